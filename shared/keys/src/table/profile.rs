//! A user's profile.
//!
//! ```text
//! table   pk  USER#{user}    sk  PROFILE
//! ```
//!
//! It shares a partition with the user's follow edges ([`FollowKey`](super::FollowKey)).

use super::declare::key;
use crate::name::User;

key! {
    /// The item that holds a user's profile.
    pub struct ProfileKey {
        /// The user.
        pub user: User,
    }
    Table: pk "USER#{user}" sk "PROFILE"
    fn partition(user: &User)
}
