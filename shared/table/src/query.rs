//! Queries of one partition, and scans.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, Select};
use lately_keys::Place;

use crate::call::{Attempts, Table};
use crate::cost::Units;
use crate::error::TableError;
use crate::expression::{Condition, Expression, Placeholders};
use lately_items::{Item, Record, Value};

/// The items of one partition that are to be read, in the order of their sort keys.
#[derive(Clone, Debug)]
pub struct Query {
    place: Place,
    pk: Value,
    /// The form of the condition on the sort key, and its values.
    range: Option<(&'static str, Vec<Value>)>,
    filter: Option<Condition>,
    attributes: Option<&'static str>,
    is_count: bool,
    is_backward: bool,
    is_consistent: bool,
    limit: Option<i32>,
    start: Option<Item>,
}

impl Query {
    /// All items of a partition of the table.
    pub fn partition(pk: impl Into<Value>) -> Self {
        Self::of(Place::Table, pk)
    }

    /// All items of a partition of the table or of an index.
    pub fn of(place: Place, pk: impl Into<Value>) -> Self {
        Self {
            place,
            pk: pk.into(),
            range: None,
            filter: None,
            attributes: None,
            is_count: false,
            is_backward: false,
            is_consistent: false,
            limit: None,
            start: None,
        }
    }

    fn in_range(self, form: &'static str, values: impl Into<Vec<Value>>) -> Self {
        Self { range: Some((form, values.into())), ..self }
    }

    /// Only the sort keys before this one.
    pub fn before(self, sk: impl Into<Value>) -> Self {
        self.in_range("{} < {}", [sk.into()])
    }

    /// Only the sort keys up to this one, included.
    pub fn up_to(self, sk: impl Into<Value>) -> Self {
        self.in_range("{} <= {}", [sk.into()])
    }

    /// Only the sort keys after this one.
    pub fn after(self, sk: impl Into<Value>) -> Self {
        self.in_range("{} > {}", [sk.into()])
    }

    /// Only the sort keys between these two, both included.
    pub fn between(self, least: impl Into<Value>, greatest: impl Into<Value>) -> Self {
        self.in_range("{} BETWEEN {} AND {}", [least.into(), greatest.into()])
    }

    /// Only the sort keys that begin with a text.
    pub fn begins_with(self, prefix: impl Into<Value>) -> Self {
        self.in_range("begins_with({}, {})", [prefix.into()])
    }

    /// Returns only items for which a condition holds. DynamoDB reads the others too, and bills them.
    pub fn filter(self, condition: Condition) -> Self {
        Self { filter: Some(condition), ..self }
    }

    /// Returns only these attributes of the items. DynamoDB bills the whole items.
    pub fn parts(self, attributes: &'static str) -> Self {
        Self { attributes: Some(attributes), ..self }
    }

    /// Returns the number of items only. DynamoDB bills the whole items.
    pub fn count(self) -> Self {
        Self { is_count: true, ..self }
    }

    /// Returns the greatest sort keys first, if asked for.
    pub fn backward(self, is_backward: bool) -> Self {
        Self { is_backward, ..self }
    }

    /// Reads consistently, if asked for.
    pub fn consistent(self, is_consistent: bool) -> Self {
        Self { is_consistent, ..self }
    }

    /// Reads at most this many items.
    pub fn limit(self, items: impl TryInto<i32>) -> Self {
        Self { limit: Some(items.try_into().unwrap_or(i32::MAX)), ..self }
    }

    /// Continues after the item that [`Page::next`] names; `None` begins at the beginning.
    pub fn start(self, start: Option<Item>) -> Self {
        Self { start, ..self }
    }

    fn key_condition(&self, table: &Table, placeholders: &mut Placeholders) -> String {
        let [pk, sk] = match self.place.index() {
            None => table.key_names.each_ref().map(|name| &**name),
            Some(_) => self.place.attributes(),
        };
        let is_pk = format!("{} = {}", placeholders.name(pk), placeholders.value(&self.pk));
        let Some((form, values)) = self.range.clone() else { return is_pk };
        let in_range = Condition::of(sk.to_owned(), form, values);
        format!("{is_pk} AND {}", placeholders.condition(&in_range))
    }
}

/// The items that one call has read.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The items.
    pub items: Vec<Item>,
    /// The number of items that match.
    pub count: usize,
    /// The number of items that were read, including the items that the filter dropped.
    pub read: usize,
    /// The price of the call.
    pub units: Units,
    /// The start of the next page; `None` if this is the last page.
    pub next: Option<Item>,
}

impl Page {
    /// The items as records.
    pub fn records<R: Record>(&self) -> Result<Vec<R>, TableError> {
        Ok(self.items.iter().map(R::decode).collect::<Result<_, _>>()?)
    }

    fn of(
        items: Option<Vec<HashMap<String, AttributeValue>>>,
        [count, read]: [i32; 2],
        units: Units,
        next: Option<HashMap<String, AttributeValue>>,
    ) -> Self {
        let [count, read] = [count, read].map(|items| usize::try_from(items).unwrap_or_default());
        let items = items.unwrap_or_default().into_iter().map(Item::from).collect();
        Self { items, count, read, units, next: next.map(Item::from) }
    }
}

impl Table {
    /// Reads a page of a partition, with one call. The cost of the operation has the number of items that were read, those
    /// that the filter dropped included.
    pub async fn query_items(&self, query: &Query) -> Result<Page, TableError> {
        let page = self.query(query).await?;
        self.meter.items(page.read);
        Ok(page)
    }

    /// As [`Table::query_items`], but the items do not count.
    pub async fn query(&self, query: &Query) -> Result<Page, TableError> {
        let mut placeholders = Placeholders::default();
        let key = query.key_condition(self, &mut placeholders);
        let Expression { condition: filter, names, values } = placeholders.expression(query.filter.as_ref());
        let send = || {
            self.client
                .query()
                .table_name(&*self.name)
                .set_index_name(query.place.index().map(str::to_owned))
                .key_condition_expression(&key)
                .set_filter_expression(filter.clone())
                .set_projection_expression(query.attributes.map(str::to_owned))
                .set_select(query.is_count.then_some(Select::Count))
                .set_expression_attribute_names(names.clone())
                .set_expression_attribute_values(values.clone())
                .scan_index_forward(!query.is_backward)
                .consistent_read(query.is_consistent)
                .set_limit(query.limit)
                .set_exclusive_start_key(query.start.clone().map(Item::into_attributes))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
        };
        let answer = Attempts::of(self).call(send).await?;
        self.meter.read(answer.consumed_capacity());
        let units = Units::of(answer.consumed_capacity());
        Ok(Page::of(answer.items, [answer.count, answer.scanned_count], units, answer.last_evaluated_key))
    }

    /// All items that a query finds, page by page. Only for partitions of a bounded size.
    pub async fn query_all(&self, mut query: Query) -> Result<Vec<Item>, TableError> {
        let mut found = Vec::new();
        loop {
            let page = self.query(&query).await?;
            found.extend(page.items);
            query.start = page.next;
            if query.start.is_none() {
                return Ok(found);
            }
        }
    }

    /// Reads a page of the whole table, consistently, and returns only the items whose sort keys lie in a range.
    pub async fn scan(
        &self,
        [least, greatest]: [String; 2],
        limit: u32,
        start: Option<Item>,
    ) -> Result<Page, TableError> {
        let [_, sk] = Place::Table.attributes();
        let filter = Condition::between(sk, least, greatest);
        let Expression { condition, names, values } = Placeholders::default().expression(Some(&filter));
        let send = || {
            self.client
                .scan()
                .table_name(&*self.name)
                .set_filter_expression(condition.clone())
                .set_expression_attribute_names(names.clone())
                .set_expression_attribute_values(values.clone())
                .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                .consistent_read(true)
                .set_exclusive_start_key(start.clone().map(Item::into_attributes))
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
        };
        let answer = Attempts::of(self).call(send).await?;
        self.meter.read(answer.consumed_capacity());
        let units = Units::of(answer.consumed_capacity());
        Ok(Page::of(answer.items, [answer.count, answer.scanned_count], units, answer.last_evaluated_key))
    }
}
