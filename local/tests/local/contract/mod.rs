//! The contract with clients, status for status and code for code.

mod access;
mod reading;
mod records;
mod topics;
mod writing;
