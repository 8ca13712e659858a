//! The views: the fields of a response that a command prints for people, and their titles.
//!
//! A view is a list of titles, each with its field if that has another name: `until=expires_at`. A field is the path of
//! a value in the response's JSON, or one of the cells that [`cell`] computes. A field that ends in `?` is left out if
//! it is null.

use serde_json::{Value, json};

use crate::failure::Result;
use crate::terminal::Terminal;
use crate::text::plain;

/// The form of a response for people.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    /// Titles and values, one pair per line.
    Pairs(&'static str),
    /// A table of the entries in this field, and the cursor of the next page, if there is one.
    List(&'static str, &'static str),
    /// The text of this field.
    Text(&'static str),
    /// A new token, and its end on standard error.
    Token,
    /// A view, and below a blank line another one of this field, if the field has anything.
    Below(&'static View<'static>, &'static str, &'static View<'static>),
    /// Nothing of the response: this line on standard error.
    Done(&'a str),
}

pub(crate) const TOPIC: View<'static> = View::Below(
    &View::Pairs("topic,bucket,retention,shards=shard_range,fan-out=fan_out,views,created at=created_at"),
    "buckets",
    &View::List("buckets", "bucket=label,shards"),
);
pub(crate) const CONSUMER: View<'static> =
    View::Pairs("position,outstanding batch=outstanding,lag,late events=late,settle time=settle_time");
pub(crate) const ISSUE: View<'static> = View::Below(
    &View::Pairs("number,title,status,priority,labels,opened,changed=updated_at,revision"),
    "body",
    &View::Text("body"),
);

impl View<'_> {
    /// Prints a response.
    pub(crate) fn print(self, terminal: &mut Terminal<'_>, value: &Value) -> Result<()> {
        match self {
            Self::Pairs(fields) => terminal.pairs(&pairs(fields, value)),
            Self::List(list, fields) => {
                let (titles, fields): (Vec<_>, Vec<_>) = columns(fields).unzip();
                let entries = value[list].as_array().into_iter().flatten();
                let rows = entries.map(|entry| fields.iter().map(|field| cell(entry, field)).collect());
                let rows: Vec<Vec<_>> = rows.collect();
                let mut table = terminal.table(&titles);
                terminal.rows(&mut table, &rows)?;
                let Some(next) = value["next"].as_str() else { return Ok(()) };
                terminal.log(format_args!("more: --cursor {}", plain(next)))
            }
            Self::Text(field) => cell(value, field).lines().try_for_each(|line| terminal.print(plain(line))),
            Self::Token => {
                let session = value["id"].as_str().map(|id| format!("session {id}, ")).unwrap_or_default();
                terminal.log(plain(&format!("{session}valid until {}", cell(value, "expires_at"))))?;
                terminal.print(plain(&cell(value, "token")))
            }
            Self::Done(line) => terminal.log(line),
            Self::Below(view, field, below) => {
                view.print(terminal, value)?;
                if [json!(null), json!([])].contains(&value[field]) {
                    return Ok(());
                }
                terminal.print("")?;
                below.print(terminal, value)
            }
        }
    }
}

/// The titles and values of fields.
pub(crate) fn pairs(fields: &'static str, value: &Value) -> Vec<(&'static str, String)> {
    let is_shown =
        |(_, field): &(_, &str)| !field.strip_suffix('?').is_some_and(|name| value[name].is_null());
    let shown = columns(fields).filter(is_shown);
    shown.map(|(title, field)| (title.trim_end_matches('?'), cell(value, field))).collect()
}

/// The titles of a view and their fields.
fn columns(fields: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    fields.split(',').map(|field| field.split_once('=').unwrap_or((field, field)))
}

/// A field as text.
fn cell(value: &Value, field: &str) -> String {
    let of =
        |name: &str, separator| text(value.pointer(&format!("/{name}")).unwrap_or(&Value::Null), separator);
    let seconds = |name| format!("{} s", of(name, ""));
    match field {
        "labels" => of(field, ", "),
        "unread" => of(field, "") + if value["more"] == true { " or more" } else { "" },
        "scopes" => of(field, " "),
        "shard_range" => format!("{} to {}", of("min_shards", ""), of("max_shards", "")),
        "lag" => seconds("lag_seconds"),
        "settle_time" => seconds("settle_seconds"),
        "opened" => format!("{} by {}", of("opened_at", ""), of("opened_by", "")),
        "limited_to" if value["topics"].is_null() => "all".to_owned(),
        "limited_to" => of("topics", ","),
        "retention" => {
            let days = value["retention_days"].as_u64();
            let days = days.map_or_else(|| "forever".to_owned(), |days| format!("{days} days"));
            let changed = value["retention_change"]["events"].as_u64();
            days + &changed.map(|events| format!(", after {events} events of a change")).unwrap_or_default()
        }
        "limits" => {
            let limits = [("writes_per_minute", "writes/min"), ("reads_per_minute", "reads/min")];
            let limits = limits.into_iter().filter(|(name, _)| !value[*name].is_null());
            let limits = limits.map(|(name, unit)| format!("{} {unit}", of(name, "")));
            limits.reduce(|all, next| format!("{all}, {next}")).unwrap_or_else(|| "-".to_owned())
        }
        field => of(field.trim_end_matches('?'), ","),
    }
}

/// A value as text; a dash for null.
fn text(value: &Value, separator: &str) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            values.iter().map(|value| text(value, separator)).collect::<Vec<_>>().join(separator)
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_fields_and_cells_under_their_titles() {
        let fields = "id,at=created_at,retention,limits,topics=limited_to,labels,file=files/0,issuer?,user?";
        let pairs = |value: Value| {
            let pairs = pairs(fields, &value).into_iter();
            pairs.map(|(title, cell)| format!("{title}: {cell}")).collect::<Vec<_>>()
        };
        assert_eq!(
            pairs(json!({"id": 7})),
            ["id: 7", "at: -", "retention: forever", "limits: -", "topics: all", "labels: -", "file: -"]
        );
        let value = json!({
            "id": "a", "created_at": "2026-11-20T00:00:00Z", "retention_days": 7, "retention_change": {"events": 3},
            "writes_per_minute": 1, "reads_per_minute": 2, "topics": ["x", "y"], "labels": ["ui", "new"],
            "files": ["one", "two"], "issuer": "https://id.example.org", "user": null,
        });
        let expected = [
            "id: a",
            "at: 2026-11-20T00:00:00Z",
            "retention: 7 days, after 3 events of a change",
            "limits: 1 writes/min, 2 reads/min",
            "topics: x,y",
            "labels: ui, new",
            "file: one",
            "issuer: https://id.example.org",
        ];
        assert_eq!(pairs(value), expected);
    }
}
