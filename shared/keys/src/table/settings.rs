//! An application's settings.
//!
//! ```text
//! table   pk  SETTINGS#{app}    sk  the same
//! ```

use crate::key::{Key, Place, TableKey};
use crate::name::App;
use crate::text::segments;

/// The item that holds an application's settings.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::SettingsKey;
///
/// let key = SettingsKey { app: "web".parse()? }.encode();
/// assert_eq!((&*key.pk, &*key.sk), ("SETTINGS#web", "SETTINGS#web"));
/// # Ok::<(), lately_keys::NameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SettingsKey {
    /// The application.
    pub app: App,
}

impl TableKey for SettingsKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        Key::same(format!("SETTINGS#{}", self.app))
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["SETTINGS", app] = segments(pk)? else { return None };
        (pk == sk).then_some(Self { app: app.parse().ok()? })
    }
}
