//! The contract with clients, status for status and code for code.

mod access;
mod reading;
mod topics;
mod writing;
