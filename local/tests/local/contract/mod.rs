//! The contract with clients, status for status and code for code.

mod access;
mod issues;
mod reading;
mod records;
mod topics;
mod writing;
