//! The troubles of a pump: the reasons why it does not do all of its work now.

use std::fmt;

/// The reasons why a pump does not do all of its work now. Empty if it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Troubles {
    /// The checkpoints cannot be written, because of this error. The pump goes on and retries.
    pub checkpoints: Option<String>,
    /// The destination refuses the records that were given up, because of this error. Their lanes wait and retry.
    pub destination: Option<String>,
    /// The pump has ended although nobody stopped it, because of this panic.
    pub ended: Option<String>,
}

impl Troubles {
    /// True if the pump does all of its work.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (what, why) in [
            ("it has ended", &self.ended),
            ("its checkpoints cannot be written", &self.checkpoints),
            ("the records that it gave up on cannot be stored", &self.destination),
        ] {
            if let Some(why) = why {
                write!(f, "{separator}{what} ({why})")?;
                separator = ", and ";
            }
        }
        Ok(())
    }
}
