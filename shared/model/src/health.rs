//! The response to a check of the service.

use serde::Serialize;

/// The service runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub enum Health {
    /// It runs.
    Ok,
}
