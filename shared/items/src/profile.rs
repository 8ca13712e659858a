//! A user's profile.
//!
//! ```text
//! table   pk  USER#{user}    sk  PROFILE
//! ```
//!
//! It shares a partition with the user's follow edges ([`FollowKey`](crate::FollowKey)).

use lately_keys::User;

use crate::key::key;

key! {
    /// The item that holds a user's profile.
    pub struct ProfileKey {
        /// The user.
        pub user: User,
    }
    Table: pk "USER#{user}" sk "PROFILE"
    fn partition(user: &User)
}
