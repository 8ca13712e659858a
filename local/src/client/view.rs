//! The views: the fields of a response that a command prints for people, and their titles.
//!
//! A view is a list of titles, each with its field if that has another name: `until=expires_at`. A field is the path of
//! a value in the response's JSON, or one of the cells that [`cell`] computes. A field that ends in `?` is left out if
//! it is null.

use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::text::plain;

/// The form of a response for people.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View {
    /// Titles and values, one pair per line.
    Pairs(&'static str),
    /// A table of the entries in this field, and the cursor of the next page, if there is one.
    List(&'static str, &'static str),
}

pub(crate) const CONSUMER: View =
    View::Pairs("position,outstanding batch=outstanding,lag,late events=late,settle time=settle_time");
pub(crate) const ISSUE: View =
    View::Pairs("number,title,status,priority,labels,opened,changed=updated_at,revision");
pub(crate) const ERASURE: View = View::Pairs(
    "id,actor,user,state,started at=started_at,finished at=finished_at,events=counts/events,follows=counts/follows,\
     followers=counts/followers,profile=counts/profile,sessions=counts/sessions,feed=counts/feed,issues=counts/issues,\
     ids sha256=ids_sha256",
);

impl View {
    /// Prints a response.
    pub(crate) fn print(self, terminal: &mut Terminal<'_>, value: &Value) -> Result<(), Failure> {
        match self {
            Self::Pairs(_) => terminal.pairs(&self.pairs(value)),
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
        }
    }

    /// The titles and values of a response.
    pub(crate) fn pairs(self, value: &Value) -> Vec<(&'static str, String)> {
        let (Self::Pairs(fields) | Self::List(_, fields)) = self;
        let is_shown =
            |(_, field): &(_, &str)| !field.strip_suffix('?').is_some_and(|name| value[name].is_null());
        let shown = columns(fields).filter(is_shown);
        shown.map(|(title, field)| (title.trim_end_matches('?'), cell(value, field))).collect()
    }
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
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_shows_fields_and_cells_under_their_titles() {
        let view = View::Pairs(
            "id,at=created_at,retention,limits,topics=limited_to,labels,file=files/0,issuer?,user?",
        );
        let pairs = |value: Value| {
            view.pairs(&value).into_iter().map(|(title, cell)| format!("{title}: {cell}")).collect::<Vec<_>>()
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
