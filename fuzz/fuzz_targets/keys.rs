//! Keys of stored items: two texts that are a key are written as the same two.
#![no_main]

use lately_keys::TableKey as _;
use lately_keys::table::AnyKey;
use libfuzzer_sys::fuzz_target;

macro_rules! encoded {
    ($key:expr, $($family:ident)*) => {
        match $key { $(AnyKey::$family(key) => key.encode(),)* }
    };
}

fuzz_target!(|input: &str| {
    let (pk, sk) = input.split_once('\n').unwrap_or((input, ""));
    let Some(key) = AnyKey::decode(pk, sk) else { return };
    let text = encoded!(&key, Event FeedEntry SourceEntry Directory Job Follow Follower FollowerCount Leaver Topic
        SourceItem PullMarker SeenMark Idempotency Profile Settings Session Repository Issue Consumer Run LatePage
        Announcement LateEvent);
    assert_eq!((&*text.pk, &*text.sk), (pk, sk));
    assert_eq!(AnyKey::decode(&text.pk, &text.sk), Some(key));
});
