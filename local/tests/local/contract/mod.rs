//! The HTTP contract: the status and the code of each response.

mod access;
mod consumers;
mod ends;
mod issues;
mod quotas;
mod reading;
mod records;
mod topics;
mod writing;
