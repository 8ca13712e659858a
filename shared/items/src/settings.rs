//! An application's settings.
//!
//! ```text
//! table   pk  SETTINGS#{app}    sk  the same
//! ```

use lately_keys::App;

use crate::key::key;

key! {
    /// The item that holds an application's settings.
    pub struct SettingsKey {
        /// The application.
        pub app: App,
    }
    Table: pk "SETTINGS#{app}" sk "SETTINGS#{app}"
}
