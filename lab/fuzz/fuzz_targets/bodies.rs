//! Fuzzes every other request body. A parsed document parses again to the same document.
#![no_main]

use lately_model::{
    Commit, Document, Follow, IssueChange, NewConsumer, NewIssue, NewSession, PollRequest, Seek, Seen, TopicChange,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(document) = Document::parse(body) {
        let again = Document::parse(document.as_str().as_bytes());
        assert_eq!(again.as_ref(), Ok(&document));
    }
    drop(TopicChange::parse(body));
    drop(NewConsumer::parse(body));
    drop(PollRequest::parse(body));
    drop(Commit::parse(body));
    drop(Seek::parse(body));
    drop(NewSession::parse(body));
    drop(Seen::parse(body));
    drop(Follow::parse(body));
    drop(NewIssue::parse(body));
    drop(IssueChange::parse(body));
});
