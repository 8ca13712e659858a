//! Fuzzes the queries of every route that has one.
#![no_main]

use lately_model::limits::PAGE_SIZE;
use lately_model::{EventQuery, FeedQuery, IssueQuery, ListQuery, QueryString, RecordQuery, SourceQuery};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &str| {
    if let Ok(events) = EventQuery::parse(query) {
        assert!((1..=PAGE_SIZE).contains(&events.limit.get()));
        // A feed accepts every query of a list of events that does not name a type.
        assert!(events.event_type.is_some() || FeedQuery::parse(query).is_ok());
    }
    drop(FeedQuery::parse(query));
    drop(SourceQuery::parse(query));
    drop(ListQuery::parse(query));
    drop(RecordQuery::parse(query));
    drop(IssueQuery::parse(query));
});
