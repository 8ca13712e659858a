//! Decisions that need no table. Pure.

use std::collections::HashMap;

use crate::fan_out::record::Record;

/// The rails of a batch: for each item, the indexes of its records, in order. The records of all items of a backlog are
/// one rail.
pub(super) fn rails(records: &[Record]) -> Vec<Vec<usize>> {
    let mut rails: Vec<Vec<usize>> = Vec::new();
    let mut known: HashMap<(&str, Option<&str>), usize> = HashMap::new();
    for (index, record) in records.iter().enumerate() {
        let is_of_item = record.backlog().is_none();
        let name = record.item.as_ref().map(|item| (&*item.pk, is_of_item.then_some(&*item.sk)));
        // A record that does not name its item is a rail of its own.
        let rail = name.map_or(rails.len(), |name| *known.entry(name).or_insert(rails.len()));
        match rails.get_mut(rail) {
            Some(rail) => rail.push(index),
            None => rails.push(vec![index]),
        }
    }
    rails
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
    fn the_records_of_an_item_are_a_rail_in_order() {
        let key = |name: &str| format!(r#""Keys":{{"pk":{{"S":"{name}"}},"sk":{{"S":"x"}}}}"#);
        let (a, b) = (key("a"), key("b"));
        let none = r#""Keys":{}"#;
        let records = batch(&[&a, &b, none, &a, none, &b, &a]);
        assert_eq!(rails(&records), [vec![0, 3, 6], vec![1, 5], vec![2], vec![4]]);
        assert!(rails(&[]).is_empty());
    }

    #[test]
    fn the_records_of_a_backlog_are_one_rail() {
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
}
