//! The workload of a plan: options of the command line, or values of the same names in a file.

use std::fmt;
use std::str::FromStr;

use lately_model::limits::{BATCH_EVENTS, EVENT_BYTES, RETENTION_DAYS};
use lately_store::limits::FAN_OUT_LIMIT;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A number a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

/// A number of days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Days(pub f64);

/// The units of a rate, with their seconds.
const PER: [(&str, f64); 4] = [("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rate = text.split_once('/').and_then(|(count, per)| {
            let (_, seconds) = PER.iter().find(|(name, _)| *name == per)?;
            count.parse::<f64>().ok().map(|count| count / seconds)
        });
        rate.filter(|rate| rate.is_finite() && *rate > 0.0)
            .map(Self)
            .ok_or_else(|| "must be a number above 0, and /s, /m, /h or /d, such as 100/s".to_owned())
    }
}

impl FromStr for Days {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u16>().ok());
        days.filter(|days| (1..=RETENTION_DAYS).contains(days))
            .map(|days| Self(days.into()))
            .ok_or_else(|| format!("must be a number of days from 1d to {RETENTION_DAYS}d"))
    }
}

/// Reads a value of a file as the command line's.
fn of_text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(json: D) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(json)?;
    text.map(|text| text.parse::<T>()).transpose().map_err(D::Error::custom)
}

/// The parts of a workload that were given.
#[derive(Clone, Debug, Default, clap::Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadOptions {
    /// The events that are written [default: 100/s]
    #[arg(long, value_name = "RATE")]
    #[serde(default, deserialize_with = "of_text")]
    events: Option<Rate>,

    /// The size of a stored event: its JSON, and some 30 bytes of keys [default: 512]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(100..=EVENT_BYTES as i64))]
    bytes: Option<u32>,

    /// The events of a request [default: 1]
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u32).range(1..=BATCH_EVENTS as i64))]
    batch: Option<u32>,

    /// The followers of an event: the feeds to which it is copied [default: 50]
    #[arg(long, value_name = "USERS", value_parser = clap::value_parser!(u32).range(..=FAN_OUT_LIMIT as i64))]
    followers: Option<u32>,

    /// The pages of the latest 50 events that are read [default: 1000/s]
    #[arg(long, value_name = "RATE")]
    #[serde(default, deserialize_with = "of_text")]
    pages: Option<Rate>,

    /// The live streams that are open all the time, each of a user's feed [default: 200]
    #[arg(long, value_name = "STREAMS")]
    live: Option<u32>,

    /// The users: they send the requests, each with a token, and have the feeds [default: 20000]
    #[arg(long, value_name = "USERS", value_parser = clap::value_parser!(u32).range(1..))]
    users: Option<u32>,

    /// The topics keep the view `type`, which stores each event a second time
    #[arg(long)]
    #[serde(default, rename = "type-view")]
    type_view: bool,

    /// The time for which an event is stored [default: 90d]
    #[arg(long, value_name = "DAYS")]
    #[serde(default, deserialize_with = "of_text")]
    retention: Option<Days>,
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// The events that are written a second.
    pub events: f64,
    /// The bytes of a stored event.
    pub bytes: f64,
    /// The events of a request.
    pub batch: f64,
    /// The followers of an event.
    pub followers: f64,
    /// The pages that are read a second.
    pub pages: f64,
    /// The open live streams.
    pub live: f64,
    /// The users.
    pub users: f64,
    /// The days for which an event is stored.
    pub retention: f64,
    /// True if the topics keep the view `type`.
    pub type_view: bool,
}

impl WorkloadOptions {
    /// The workload: each part from these options, or else from others, or else the default.
    pub(super) fn or(self, other: Self) -> Workload {
        let number = |own: Option<u32>, other, default| own.or(other).unwrap_or(default).into();
        Workload {
            events: self.events.or(other.events).unwrap_or(Rate(100.0)).0,
            bytes: number(self.bytes, other.bytes, 512),
            batch: number(self.batch, other.batch, 1),
            followers: number(self.followers, other.followers, 50),
            pages: self.pages.or(other.pages).unwrap_or(Rate(1_000.0)).0,
            live: number(self.live, other.live, 200),
            users: number(self.users, other.users, 20_000),
            retention: self.retention.or(other.retention).unwrap_or(Days(90.0)).0,
            type_view: self.type_view || other.type_view,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { events, bytes, batch, followers, pages, live, users, retention, type_view } = self;
        let view = if *type_view { ", with the view type" } else { "" };
        write!(
            f,
            "{events}/s events of {bytes} bytes ({batch} a request) with {followers} followers, {pages}/s pages, \
             {live} live streams, {users} users, {retention} days{view}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_and_a_time() {
        let rate = |text: &str| text.parse::<Rate>().map(|rate| rate.0);
        assert_eq!([rate("100/s"), rate("90/m"), rate("1.8/h")], [Ok(100.0), Ok(1.5), Ok(0.0005)]);
        for text in ["0/s", "-1/s", "100", "100/w", "x/s", "inf/s", "NaN/s", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!("90d".parse::<Days>(), Ok(Days(90.0)));
        for text in ["0d", "90", "d", "1.5d", "99999d"] {
            assert!(text.parse::<Days>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_option_beats_the_file_and_the_file_the_default() {
        let file: WorkloadOptions =
            serde_json::from_str(r#"{"events":"5/s","retention":"7d","live":3,"type-view":true}"#)
                .expect("a workload");
        let own = WorkloadOptions { live: Some(4), ..WorkloadOptions::default() };
        let Workload { events, retention, live, bytes, type_view, .. } = own.or(file);
        assert_eq!((events, retention, live, bytes, type_view), (5.0, 7.0, 4.0, 512.0, true));
        for text in [r#"{"event":"5/s"}"#, r#"{"events":"0/s"}"#, "[]x"] {
            assert!(serde_json::from_str::<WorkloadOptions>(text).is_err(), "{text}");
        }
    }
}
