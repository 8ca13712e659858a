//! Decisions that need no table.

use std::collections::HashMap;

use lately_keys::table::Backlog;
use lately_keys::{Key, UnixMillis};

use crate::fan_out::record::{Change, Record, What};
use crate::limits::{CLOCKS_APART_MILLIS, LANDED_WITHIN_MILLIS};

/// The rails of a batch: the places of each item's records, in order. The records of a backlog's items are one rail.
pub(super) fn rails(records: &[Record]) -> Vec<Vec<usize>> {
    let mut rails: Vec<Vec<usize>> = Vec::new();
    let mut of_item: HashMap<&Key, usize> = HashMap::new();
    let mut of_backlog: HashMap<&Backlog, usize> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        if let Ok(Some(Change { what: What::Backlog(key), .. })) = &record.change {
            let rail = *of_backlog.entry(&key.backlog).or_insert(rails.len());
            match rails.get_mut(rail) {
                Some(rail) => rail.push(place),
                None => rails.push(vec![place]),
            }
            continue;
        }
        // A record that does not say whose it is stands alone.
        let rail = record.item.as_ref().map(|item| *of_item.entry(item).or_insert(rails.len()));
        match rail.and_then(|rail| rails.get_mut(rail)) {
            Some(rail) => rail.push(place),
            None => rails.push(vec![place]),
        }
    }
    rails
}

/// Whether an event that landed then may not have been there when a run was read that was announced then. DynamoDB tells
/// the one, rounded down; a reporter's clock the other.
pub(super) fn may_be_missed(landed_at: UnixMillis, announced_at: UnixMillis) -> bool {
    landed_at.saturating_add(LANDED_WITHIN_MILLIS + CLOCKS_APART_MILLIS) >= announced_at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(items: &[&str]) -> Vec<Record> {
        let record = |item: &&str| {
            format!(
                r#"{{"eventID":"1","eventName":"INSERT","awsRegion":"x","dynamodb":{{"SequenceNumber":"1","SizeBytes":1,"ApproximateCreationDateTime":1,{item}}}}}"#
            )
        };
        let records: Vec<_> = items.iter().map(record).collect();
        Record::batch(format!(r#"{{"Records":[{}]}}"#, records.join(",")).as_bytes()).unwrap()
    }

    #[test]
    fn each_item_is_a_rail_in_its_own_order() {
        let key = |name: &str| format!(r#""Keys":{{"pk":{{"S":"{name}"}},"sk":{{"S":"x"}}}}"#);
        let (a, b) = (key("a"), key("b"));
        let none = r#""Keys":{}"#;
        let records = batch(&[&a, &b, none, &a, none, &b, &a]);
        assert_eq!(rails(&records), [vec![0, 3, 6], vec![1, 5], vec![2], vec![4]]);
        assert!(rails(&[]).is_empty());
    }

    #[test]
    fn a_backlogs_records_are_one_rail() {
        let item = |backlog: &str, sk: char| {
            let id = format!("0190a4cd-d3e7-7222-9f99-fdb74feee75{sk}");
            format!(r#""Keys":{{"pk":{{"S":"JOB#BACKLOG#{backlog}"}},"sk":{{"S":"{id}"}}}},"NewImage":{{}}"#)
        };
        let records = batch(&[
            &item("FEED#bob", '1'),
            &item("SOURCE#actor:bob", '1'),
            &item("FEED#bob", '2'),
            &item("FEED#bob", '1'),
        ]);
        assert_eq!(rails(&records), [vec![0, 2, 3], vec![1]]);
    }

    #[test]
    fn what_landed_more_than_a_minute_before_a_run_was_announced_was_read_by_it() {
        let millis = |millis| UnixMillis::new(millis).unwrap();
        // It may have landed a second later than it is said.
        assert!(may_be_missed(millis(1_000_000), millis(1_061_000)));
        assert!(!may_be_missed(millis(1_000_000), millis(1_061_001)));
        assert!(may_be_missed(millis(1_000_000), millis(0)));
    }
}
