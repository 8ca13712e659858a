//! Reads and sets items directly in the database, without a record in the stream.

use dynoxide::actions::delete_item::DeleteItemRequest;
use dynoxide::actions::get_item::GetItemRequest;
use dynoxide::actions::put_item::PutItemRequest;
use dynoxide::{Database, DynoxideError, Item};

use crate::table::Table;

/// Reads an item. `None` also for a key that the database refuses.
pub(crate) fn image(db: &Database, table: &Table, key: &Item) -> Result<Option<Item>, DynoxideError> {
    let request = GetItemRequest {
        table_name: table.name.clone(),
        key: key.clone(),
        consistent_read: Some(true),
        ..GetItemRequest::default()
    };
    match db.get_item(request) {
        Ok(response) => Ok(response.item),
        Err(error) if error.status_code() < 500 => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts an item, or deletes it if `image` is `None`.
pub(crate) fn set_image(
    db: &Database,
    table: &str,
    key: &Item,
    image: Option<Item>,
) -> Result<(), DynoxideError> {
    let table_name = table.to_owned();
    match image {
        Some(item) => drop(db.put_item(PutItemRequest { table_name, item, ..PutItemRequest::default() })?),
        None => drop(db.delete_item(DeleteItemRequest {
            table_name,
            key: key.clone(),
            ..DeleteItemRequest::default()
        })?),
    }
    Ok(())
}
