//! The views of a topic: the further timelines that list its events.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

lately_keys::words! {
    /// A view of a topic's events.
    pub enum View {
        /// By actor.
        Actor = "actor",
        /// By subject.
        Subject = "subject",
        /// By type.
        Type = "type",
    }
    else ViewError = "must be actor, subject or type"
}

lately_keys::schema!(View, inline, words(View::ALL.map(View::as_str)));

/// The views that a topic has. Their JSON is the array of their names.
///
/// ```
/// use lately_model::{View, Views};
///
/// let views: Views = [View::Type, View::Actor].into_iter().collect();
/// assert_eq!(views, Views { actor: true, subject: false, event_type: true });
/// assert_eq!(serde_json::to_string(&views)?, r#"["actor","type"]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Views {
    /// By actor.
    pub actor: bool,
    /// By subject.
    pub subject: bool,
    /// By type.
    pub event_type: bool,
}

impl Views {
    /// No view.
    pub const NONE: Self = Self { actor: false, subject: false, event_type: false };

    /// True if a view is one of these.
    pub const fn contains(self, view: View) -> bool {
        match view {
            View::Actor => self.actor,
            View::Subject => self.subject,
            View::Type => self.event_type,
        }
    }

    /// These views, in the order of [`View::ALL`].
    pub fn iter(self) -> impl Iterator<Item = View> {
        View::ALL.into_iter().filter(move |view| self.contains(*view))
    }
}

impl Default for Views {
    /// The views that fan-out needs: by actor and by subject.
    fn default() -> Self {
        Self { actor: true, subject: true, event_type: false }
    }
}

impl FromIterator<View> for Views {
    fn from_iter<I: IntoIterator<Item = View>>(views: I) -> Self {
        views.into_iter().fold(Self::NONE, |views, view| match view {
            View::Actor => Self { actor: true, ..views },
            View::Subject => Self { subject: true, ..views },
            View::Type => Self { event_type: true, ..views },
        })
    }
}

impl<'de> Deserialize<'de> for Views {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<View>::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Serialize for Views {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(View::as_str))
    }
}
