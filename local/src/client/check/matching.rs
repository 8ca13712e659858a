//! Compares an answer with a case's expectation, as `clients/conformance/matching.py` does: an object may have further
//! fields, a list no further entries.

use std::collections::HashSet;

use serde_json::Value;

/// The value at a path such as `events.0.data.n`; null if there is none.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(&format!("/{}", path.replace('.', "/"))).unwrap_or(&Value::Null)
}

/// Compares a value, which is at a path of the answer.
///
/// # Errors
/// The first difference, as text.
pub(super) fn compare(expected: &Value, actual: &Value, path: &str) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(matchers), _) if matchers.keys().any(|name| name.starts_with('$')) => {
            matchers.iter().try_for_each(|(name, wanted)| compare_by(name, wanted, actual, path))
        }
        (Value::Object(fields), Value::Object(_)) => fields
            .iter()
            .try_for_each(|(name, wanted)| compare(wanted, &actual[name], &format!("{path}.{name}"))),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => {
            let pairs = wanted.iter().zip(found).enumerate();
            let mut pairs = pairs.map(|(index, pair)| (format!("{path}.{index}"), pair));
            pairs.try_for_each(|(path, (wanted, found))| compare(wanted, found, &path))
        }
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => Ok(()),
        _ if expected == actual => Ok(()),
        _ => Err(format!("{path} is {actual} instead of {expected}")),
    }
}

/// Compares a value by a matcher.
fn compare_by(name: &str, wanted: &Value, actual: &Value, path: &str) -> Result<(), String> {
    let entries = actual.as_array().map(Vec::as_slice).unwrap_or_default();
    let entries_at = |path: &str| entries.iter().map(|entry| at(entry, path).clone()).collect::<Vec<_>>();
    let holds = match (name, wanted) {
        ("$any", _) => !actual.is_null(),
        ("$absent", _) => actual.is_null(),
        ("$min", _) => is_ordered(wanted, actual),
        ("$max", _) => is_ordered(actual, wanted),
        ("$length", _) => actual.is_array() && *wanted == entries.len(),
        ("$some", _) => entries.iter().any(|entry| compare(wanted, entry, path).is_ok()),
        ("$unique", Value::String(path)) => {
            entries_at(path).iter().map(Value::to_string).collect::<HashSet<_>>().len() == entries.len()
        }
        ("$newest_first", _) => entries_at("id").is_sorted_by(|newer, older| is_ordered(older, newer)),
        ("$each", Value::Object(lists)) => {
            return lists.iter().try_for_each(|(each, values)| {
                compare(values, &entries_at(each).into(), &format!("{path}[].{each}"))
            });
        }
        _ => return Err(format!("the check knows no matcher {name}")),
    };
    if holds { Ok(()) } else { Err(format!("{path} is {actual}, which is not {name} {wanted}")) }
}

/// True for two texts or two numbers of which the first is not greater.
fn is_ordered(first: &Value, second: &Value) -> bool {
    match (first.as_str(), second.as_str()) {
        (Some(first), Some(second)) => first <= second,
        _ => matches!((first.as_f64(), second.as_f64()), (Some(first), Some(second)) if first <= second),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_match_or_name_the_first_difference() {
        let page =
            json!({"events": [{"id": "b", "data": 2}, {"id": "a", "data": 1}], "newer": "c", "next": null});
        for expected in [
            json!({"events": {"$each": {"data": [2, 1.0]}, "$unique": "id", "$newest_first": true, "$length": 2}}),
            json!({"events": [{"id": {"$min": "b", "$max": "b"}}, {"data": {"$max": 1}}], "next": null}),
            json!({"events": {"$some": {"data": {"$min": 2}}}, "newer": {"$any": true}, "more": {"$absent": true}}),
        ] {
            assert_eq!(compare(&expected, &page, "value"), Ok(()), "{expected}");
        }
        for (expected, why) in [
            (json!({"events": []}), "value.events is [{"),
            (json!({"events": [{"id": "b"}, {"data": 2}]}), "value.events.1.data is 1 instead of 2"),
            (json!({"events": {"$each": {"data": [1, 2]}}}), "value.events[].data.0 is 2 instead of 1"),
            (json!({"newer": {"$min": 1}}), "value.newer is \"c\", which is not $min 1"),
            (json!({"newer": {"$match": "c"}}), "the check knows no matcher $match"),
        ] {
            let difference = compare(&expected, &page, "value").expect_err("a difference");
            assert!(difference.starts_with(why), "{difference}");
        }
        assert_eq!(at(&page, "events.1.id"), "a");
    }
}
