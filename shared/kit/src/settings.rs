//! A function's settings, read from its environment.

use std::ffi::OsString;

use lately_model::RetentionDays;
use lately_model::limits::BODY_BYTES;
use lately_store::FeedSettings;
use tracing::Level;

/// A function's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `TABLE_NAME`: the table.
    pub table_name: String,
    /// `BODY_BYTES`: the cap on bodies, in bytes; 3 MiB unless it is lower.
    pub body_bytes: usize,
    /// `FAN_OUT_LIMIT`: feeds pull a source that has more followers. `FEED_RETENTION_DAYS`: how long feeds store an
    /// entry; if it is 0 or not set, as long as its event.
    pub feeds: FeedSettings,
    /// `METRICS_NAMESPACE`: CloudWatch's namespace for the metrics; without it no metrics are written.
    pub metrics_namespace: Option<String>,
    /// `LOG_LEVEL`: `error`, `warn` or `info`, the default.
    pub log_level: Level,
}

/// All faults of an environment, with the names of the variables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct SettingsError(Vec<String>);

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// With all faults of the environment.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_vars(std::env::vars_os())
    }

    /// Reads an environment. An empty variable counts as absent.
    ///
    /// # Errors
    /// With all faults of the environment.
    pub fn from_vars(
        vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Result<Self, SettingsError> {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        let vars = vars.into_iter().map(|(name, value)| (text(name.into()), text(value.into())));
        let mut read =
            Reading { vars: vars.filter(|(_, value)| !value.is_empty()).collect(), faults: Vec::new() };
        if read.var("TABLE_NAME").is_none() {
            read.faults.push("TABLE_NAME must be set".to_owned());
        }
        let table_name = read.parsed("TABLE_NAME", "3 to 255 of A-Z a-z 0-9 _ . -", table_name);
        let body_bytes = read.parsed("BODY_BYTES", "1 to 3145728", |text| {
            text.parse().ok().filter(|bytes| (1..=BODY_BYTES).contains(bytes))
        });
        let defaults = FeedSettings::default();
        let limit = read.parsed("FAN_OUT_LIMIT", "a whole number", |text| text.parse().ok());
        let retention = read.parsed("FEED_RETENTION_DAYS", "0 to 36500", |text| match text.parse().ok()? {
            0 => Some(None),
            days => RetentionDays::new(days).ok().map(Some),
        });
        let metrics_namespace =
            read.parsed("METRICS_NAMESPACE", "1 to 255 of A-Z a-z 0-9 _ . / # : -, and not AWS/…", namespace);
        let log_level = read.parsed("LOG_LEVEL", "error, warn or info", level);
        if !read.faults.is_empty() {
            return Err(SettingsError(read.faults));
        }
        Ok(Self {
            table_name: table_name.unwrap_or_default(),
            body_bytes: body_bytes.unwrap_or(BODY_BYTES),
            feeds: FeedSettings {
                fan_out_limit: limit.unwrap_or(defaults.fan_out_limit),
                retention: retention.unwrap_or(defaults.retention),
                ..defaults
            },
            metrics_namespace,
            log_level: log_level.unwrap_or(Level::INFO),
        })
    }
}

/// An environment while it is read.
struct Reading {
    vars: Vec<(String, String)>,
    faults: Vec<String>,
}

impl Reading {
    fn var(&self, name: &str) -> Option<&str> {
        self.vars.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A variable's value; none if it is absent, and none with a fault if it is ill-formed.
    fn parsed<T>(&mut self, name: &str, rule: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let value = parse(self.var(name)?);
        if value.is_none() {
            self.faults.push(format!("{name} must be {rule}"));
        }
        value
    }
}

/// True if the text has the form of a table's name.
pub fn is_table_name(text: &str) -> bool {
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (3..=255).contains(&text.len()) && text.bytes().all(alphabet)
}

fn table_name(text: &str) -> Option<String> {
    is_table_name(text).then(|| text.to_owned())
}

/// CloudWatch's alphabet of namespaces; `AWS/` is reserved for AWS's own services.
fn namespace(text: &str) -> Option<String> {
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"_./#:-".contains(&byte);
    let ours = text.len() <= 255 && text.bytes().all(alphabet) && !text.starts_with("AWS/");
    ours.then(|| text.to_owned())
}

fn level(text: &str) -> Option<Level> {
    let levels = [Level::ERROR, Level::WARN, Level::INFO];
    levels.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_except_the_table_has_a_default() {
        let settings = Settings::from_vars([("TABLE_NAME", "lately"), ("LOG_LEVEL", ""), ("PATH", "/bin")]);
        let expected = Settings {
            table_name: "lately".to_owned(),
            body_bytes: BODY_BYTES,
            feeds: FeedSettings::default(),
            metrics_namespace: None,
            log_level: Level::INFO,
        };
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn set_variables_are_read() {
        let vars = [
            ("BODY_BYTES", "65536"),
            ("LOG_LEVEL", "warn"),
            ("TABLE_NAME", "a-b.c_1"),
            ("METRICS_NAMESPACE", "Lately/Test"),
            ("FAN_OUT_LIMIT", "7"),
            ("FEED_RETENTION_DAYS", "30"),
        ];
        let settings = Settings::from_vars(vars).unwrap();
        assert_eq!((settings.body_bytes, settings.log_level), (65_536, Level::WARN));
        assert_eq!(settings.metrics_namespace.as_deref(), Some("Lately/Test"));
        assert_eq!(
            (settings.feeds.fan_out_limit, settings.feeds.retention),
            (7, RetentionDays::new(30).ok())
        );
        let forever = [("TABLE_NAME", "lately"), ("FEED_RETENTION_DAYS", "0")];
        assert_eq!(Settings::from_vars(forever).unwrap().feeds, FeedSettings::default());
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let vars = [
            ("BODY_BYTES", "3145729"),
            ("LOG_LEVEL", "loud"),
            ("TABLE_NAME", "a#b"),
            ("METRICS_NAMESPACE", "AWS/Lambda"),
            ("FAN_OUT_LIMIT", "-1"),
            ("FEED_RETENTION_DAYS", "36501"),
        ];
        assert_eq!(
            Settings::from_vars(vars).unwrap_err().to_string(),
            "TABLE_NAME must be 3 to 255 of A-Z a-z 0-9 _ . -; BODY_BYTES must be 1 to 3145728; \
             FAN_OUT_LIMIT must be a whole number; FEED_RETENTION_DAYS must be 0 to 36500; \
             METRICS_NAMESPACE must be 1 to 255 of A-Z a-z 0-9 _ . / # : -, and not AWS/…; \
             LOG_LEVEL must be error, warn or info"
        );
        let nothing: [(&str, &str); 0] = [];
        assert_eq!(Settings::from_vars(nothing).unwrap_err().to_string(), "TABLE_NAME must be set");
    }
}
