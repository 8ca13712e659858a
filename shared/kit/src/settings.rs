//! What the environment says.

use std::ffi::OsString;

use lately_model::limits::BODY_BYTES;

/// A function's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `TABLE_NAME`: the table.
    pub table_name: String,
    /// `BODY_BYTES`: how many bytes a body may have; 3 MiB unless it says less.
    pub body_bytes: usize,
    /// `LOG_LEVEL`, `error` to `trace`: how much is logged; `info` unless it says otherwise.
    pub log_level: tracing::Level,
}

/// All that is wrong with the environment, by variable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct SettingsError(Vec<String>);

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// With all that is wrong with it.
    pub fn from_env() -> Result<Self, SettingsError> {
        Self::from_vars(std::env::vars_os())
    }

    /// Reads an environment. A variable that is empty says nothing, as one that is absent.
    ///
    /// # Errors
    /// With all that is wrong with it.
    pub fn from_vars(
        vars: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Result<Self, SettingsError> {
        let (mut table_name, mut body_bytes, mut log_level) = (None, None, None);
        for (name, value) in vars {
            let (name, value) = (name.into(), value.into());
            let place = match name.to_str() {
                Some("TABLE_NAME") => &mut table_name,
                Some("BODY_BYTES") => &mut body_bytes,
                Some("LOG_LEVEL") => &mut log_level,
                _ => continue,
            };
            *place = Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty());
        }
        let mut faults = Vec::new();
        let settings = Self {
            table_name: parsed("TABLE_NAME", table_name, parse_table_name, &mut faults).unwrap_or_default(),
            body_bytes: parsed("BODY_BYTES", body_bytes, parse_bytes, &mut faults).unwrap_or(BODY_BYTES),
            log_level: parsed("LOG_LEVEL", log_level, parse_level, &mut faults)
                .unwrap_or(tracing::Level::INFO),
        };
        if faults.is_empty() { Ok(settings) } else { Err(SettingsError(faults)) }
    }
}

/// A variable's value; none, and perhaps a fault, if there is none.
fn parsed<T>(
    name: &str,
    value: Option<String>,
    parse: impl FnOnce(Option<&str>) -> Result<Option<T>, &'static str>,
    faults: &mut Vec<String>,
) -> Option<T> {
    parse(value.as_deref()).unwrap_or_else(|rule| {
        faults.push(format!("{name} {rule}"));
        None
    })
}

fn parse_table_name(text: Option<&str>) -> Result<Option<String>, &'static str> {
    let name = text.ok_or("must be set")?;
    let alphabet = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if (3..=255).contains(&name.len()) && name.bytes().all(alphabet) {
        Ok(Some(name.to_owned()))
    } else {
        Err("must be 3 to 255 of A-Z a-z 0-9 _ . -")
    }
}

fn parse_bytes(text: Option<&str>) -> Result<Option<usize>, &'static str> {
    let bytes = text.map(str::parse).transpose().ok();
    bytes
        .filter(|bytes| bytes.is_none_or(|bytes| (1..=BODY_BYTES).contains(&bytes)))
        .ok_or("must be 1 to 3145728")
}

fn parse_level(text: Option<&str>) -> Result<Option<tracing::Level>, &'static str> {
    let name = |level: &tracing::Level| text.is_some_and(|text| level.as_str().eq_ignore_ascii_case(text));
    let levels = [
        tracing::Level::ERROR,
        tracing::Level::WARN,
        tracing::Level::INFO,
        tracing::Level::DEBUG,
        tracing::Level::TRACE,
    ];
    match levels.into_iter().find(name) {
        None if text.is_some() => Err("must be error, warn, info, debug or trace"),
        level => Ok(level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_has_a_default_but_the_table() {
        let settings = Settings::from_vars([("TABLE_NAME", "lately"), ("LOG_LEVEL", ""), ("PATH", "/bin")]);
        let expected = Settings {
            table_name: "lately".to_owned(),
            body_bytes: BODY_BYTES,
            log_level: tracing::Level::INFO,
        };
        assert_eq!(settings, Ok(expected));
    }

    #[test]
    fn what_is_said_is_read() {
        let vars = [("BODY_BYTES", "65536"), ("LOG_LEVEL", "debug"), ("TABLE_NAME", "a-b.c_1")];
        let settings = Settings::from_vars(vars).unwrap();
        assert_eq!((settings.body_bytes, settings.log_level), (65_536, tracing::Level::DEBUG));
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let vars = [("BODY_BYTES", "3145729"), ("LOG_LEVEL", "loud"), ("TABLE_NAME", "a#b")];
        assert_eq!(
            Settings::from_vars(vars).unwrap_err().to_string(),
            "TABLE_NAME must be 3 to 255 of A-Z a-z 0-9 _ . -; BODY_BYTES must be 1 to 3145728; \
             LOG_LEVEL must be error, warn, info, debug or trace"
        );
        let nothing: [(&str, &str); 0] = [];
        assert_eq!(Settings::from_vars(nothing).unwrap_err().to_string(), "TABLE_NAME must be set");
    }
}
