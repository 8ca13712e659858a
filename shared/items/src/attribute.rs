//! The values of attributes: how each type is stored, and read.
//!
//! A type has one form in all items. A list of values is a list of these forms, except where [`Attribute::write_list`] is
//! another: ids are 16 bytes each in one attribute, and bytes are bytes.

use std::collections::BTreeSet;
use std::fmt::Display;

use aws_sdk_dynamodb::primitives::Blob;
pub(crate) use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{
    Actor, Bucket, BucketWidth, EventId, EventType, IssueNumber, IssuePriority, IssueStatus, SessionId,
    Shard, ShardCount, Source, Subject, Topic, UnixMillis, User,
};
use lately_model::{
    BatchToken, Data, Document, GroupBy, IssueBody, IssueTitle, Label, Labels, RequestsPerMinute,
    RetentionDays, Revision, Scopes, SettleSeconds, SumField, View, Views,
};

use crate::consumer::ConsumerMode;
use crate::erasure_step::ErasureStage;
use crate::item::Item;
use crate::session::TokenHash;

/// A type whose values are stored in attributes. It has `write` and `read`, or `write_list` and `read_list`, or all.
pub trait Attribute: Sized {
    /// The attribute of the value.
    fn write(&self) -> AttributeValue {
        Self::write_list(std::slice::from_ref(self))
    }

    /// The value of an attribute; `None` if the attribute has another form.
    fn read(value: &AttributeValue) -> Option<Self> {
        Self::read_list(value)?.pop()
    }

    /// The attribute of a list of values.
    fn write_list(list: &[Self]) -> AttributeValue {
        AttributeValue::L(list.iter().map(Self::write).collect())
    }

    /// The values of an attribute that holds a list; `None` if it has another form.
    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        value.as_l().ok()?.iter().map(Self::read).collect()
    }
}

/// Declares types that are stored as their text (`S`) or as a number (`N`), perhaps with another form for their lists.
macro_rules! displayed {
    ($form:ident $as_form:ident: $($type:ty),*) => { displayed!($form $as_form: $($type),*; {}); };
    ($form:ident $as_form:ident: $($type:ty),*; $list:tt) => {
        $(displayed!(@type $form $as_form $type, $list);)*
    };
    (@type $form:ident $as_form:ident $type:ty, { $($list:item)* }) => {
        impl Attribute for $type {
            fn write(&self) -> AttributeValue {
                AttributeValue::$form(self.to_string())
            }

            fn read(value: &AttributeValue) -> Option<Self> {
                value.$as_form().ok()?.parse().ok()
            }

            $($list)*
        }
    };
}

displayed! {
    S as_s: String, Actor, BatchToken, BucketWidth, ConsumerMode, ErasureStage, EventType, GroupBy,
        IssuePriority, IssueStatus, Scopes, SessionId, Source, Subject, SumField, TokenHash, User
}
displayed!(N as_n: u16, u32, u64, i64, IssueNumber, Shard);
// A list of bytes is stored as bytes.
displayed!(N as_n: u8; {
    fn write_list(bytes: &[Self]) -> AttributeValue {
        AttributeValue::B(Blob::new(bytes))
    }

    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        value.as_b().ok().map(|bytes| bytes.as_ref().to_vec())
    }
});
// A list of ids is stored as 16 bytes each.
displayed!(S as_s: EventId; {
    fn write_list(ids: &[Self]) -> AttributeValue {
        ids.iter().flat_map(|id| id.as_uuid().into_bytes()).collect::<Vec<u8>>().write()
    }

    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        value.as_b().ok()?.as_ref().chunks(16).map(Self::from_slice).collect()
    }
});
// A list of words is one text, with spaces between them.
displayed!(S as_s: Bucket, Topic, View; {
    fn write_list(list: &[Self]) -> AttributeValue {
        AttributeValue::S(list.iter().map(Self::to_string).collect::<Vec<_>>().join(" "))
    }

    fn read_list(value: &AttributeValue) -> Option<Vec<Self>> {
        value.as_s().ok()?.split_ascii_whitespace().map(|text| text.parse().ok()).collect()
    }
});

/// Declares types that are stored as another type.
macro_rules! stored_as {
    ($($type:ty as $stored:ty: $write:expr, $read:expr;)*) => {$(
        impl $crate::attribute::Attribute for $type {
            fn write(&self) -> $crate::attribute::AttributeValue {
                let stored: fn(&Self) -> $stored = $write;
                $crate::attribute::Attribute::write(&stored(self))
            }

            fn read(value: &$crate::attribute::AttributeValue) -> Option<Self> {
                let read: fn($stored) -> Option<Self> = $read;
                read($crate::attribute::Attribute::read(value)?)
            }
        }
    )*};
}
pub(crate) use stored_as;

stored_as! {
    Data as String: |data| data.as_str().to_owned(), |text| Self::from_stored(text).ok();
    Document as String: |document| document.as_str().to_owned(), |text| Self::from_stored(text).ok();
    IssueBody as String: |body| body.as_str().to_owned(), |text| text.parse().ok();
    IssueTitle as String: |title| title.as_str().to_owned(), |text| text.parse().ok();
    Label as String: |label| label.as_str().to_owned(), |text| text.parse().ok();
    [u8; 32] as Vec<u8>: |bytes| bytes.to_vec(), |bytes| bytes.try_into().ok();
    Labels as Vec<Label>: |labels| labels.iter().cloned().collect(), |labels| Self::new(labels).ok();
    RequestsPerMinute as u32: |limit| limit.get(), |number| Self::new(number).ok();
    RetentionDays as u16: |days| days.get(), |number| Self::new(number).ok();
    Revision as u64: |revision| revision.get(), |number| Some(Self::new(number));
    SettleSeconds as u16: |seconds| seconds.get(), |number| Self::new(number).ok();
    ShardCount as u16: |count| count.get(), |number| Self::new(number).ok();
    Views as Vec<View>: |views| views.iter().collect(), |views| Some(views.into_iter().collect());
    UnixMillis as u64: |at| at.get(), |millis| Self::new(millis).ok();
}

/// A list of values.
impl<T: Attribute> Attribute for Vec<T> {
    fn write(&self) -> AttributeValue {
        T::write_list(self)
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        T::read_list(value)
    }
}

impl Attribute for bool {
    fn write(&self) -> AttributeValue {
        AttributeValue::Bool(*self)
    }

    fn read(value: &AttributeValue) -> Option<Self> {
        value.as_bool().ok().copied()
    }
}

/// Declares types whose sets are stored as sets.
macro_rules! sets {
    ($($form:ident $as_form:ident: $type:ty;)*) => {$(
        impl Attribute for BTreeSet<$type> {
            fn write(&self) -> AttributeValue {
                AttributeValue::$form(self.iter().map(ToString::to_string).collect())
            }

            fn read(value: &AttributeValue) -> Option<Self> {
                value.$as_form().ok()?.iter().map(|member| member.parse().ok()).collect()
            }
        }
    )*};
}

sets! {
    Ss as_ss: EventType;
    Ss as_ss: Source;
    Ns as_ns: Shard;
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Value(pub(crate) AttributeValue);

impl Value {
    /// A set of numbers, which must not be empty.
    pub fn numbers(numbers: impl IntoIterator<Item = impl Display>) -> Self {
        Self(AttributeValue::Ns(numbers.into_iter().map(|number| number.to_string()).collect()))
    }

    /// A list, in the form that lists of this type have.
    pub(crate) fn of_list<T: Attribute>(list: &[T]) -> Self {
        Self(T::write_list(list))
    }

    /// The value as a type; `None` if it has another form.
    pub fn read<T: Attribute>(&self) -> Option<T> {
        T::read(&self.0)
    }

    /// The value in the SDK's form.
    pub fn into_attribute(self) -> AttributeValue {
        self.0
    }
}

impl<T: Attribute> From<&T> for Value {
    fn from(value: &T) -> Self {
        Self(value.write())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(AttributeValue::S(text.to_owned()))
    }
}

/// A map: an item within an item.
impl From<Item> for Value {
    fn from(map: Item) -> Self {
        Self(AttributeValue::M(map.into_attributes()))
    }
}

impl From<AttributeValue> for Value {
    fn from(value: AttributeValue) -> Self {
        Self(value)
    }
}

macro_rules! from_owned {
    ($($type:ty),*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::from(&value)
            }
        }
    )*};
}

from_owned!(bool, u8, u16, u32, u64, i64, String);
