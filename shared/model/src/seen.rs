//! The seen mark of a user's feed.

use lately_keys::EventId;
use serde::Serialize;

use crate::body::{self, BodyError};

/// The body of `PUT /feeds/{user}/seen`: `{"id"}`, the newest event that the user has seen.
///
/// ```
/// use lately_model::Seen;
///
/// let seen = Seen::parse(br#"{"id": "0190868b-57e7-7000-80c0-0dd011ec70b5"}"#)?;
/// assert_eq!(seen.id.at().to_string(), "2024-07-06T05:36:37.351Z");
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Seen {
    /// The event.
    pub id: EventId,
}

impl Seen {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["id"], |[id], found| Some(Self { id: id.required(found).text(found)? }))
    }
}
