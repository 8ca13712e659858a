//! A record of the stream that always fails: a follower whose time cannot be read. All records behind it in its lane wait.

use lately_items::FollowerKey;
use lately_table::Item;

use crate::overload::neighbour::Neighbourhood;

pub(super) async fn run(place: &Neighbourhood) {
    let source = "actor:nobody".parse().expect("a source");
    let user = "vic".parse().expect("a user");
    let key = FollowerKey { source, shard: 0.into(), user };
    place.put_all(vec![Item::at(&key).with("since", "unreadable")]).await;
}
