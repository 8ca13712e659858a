//! The contract with clients, status for status and code for code.

mod access;
mod consumers;
mod issues;
mod reading;
mod records;
mod topics;
mod writing;
