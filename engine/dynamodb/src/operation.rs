//! The operations of DynamoDB that the engine knows, by name.

use std::fmt;

macro_rules! operations {
    ($($name:ident),* $(,)?) => {
        /// An operation of the DynamoDB API.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is the API's operation of that name")]
        pub enum Operation { $($name),* }

        impl Operation {
            /// The operation's name in requests.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            fn from_name(name: &str) -> Option<Self> {
                match name { $(stringify!($name) => Some(Self::$name),)* _ => None }
            }
        }
    };
}

operations! {
    PutItem, UpdateItem, DeleteItem, BatchWriteItem, TransactWriteItems,
    GetItem, BatchGetItem, TransactGetItems, Query, Scan,
    CreateTable, UpdateTable, DeleteTable, DescribeTable, ListTables,
    UpdateTimeToLive, DescribeTimeToLive,
    TagResource, UntagResource, ListTagsOfResource,
}

impl Operation {
    /// Reads an `x-amz-target` header: `DynamoDB_20120810.PutItem`.
    pub(crate) fn from_target(target: &str) -> Option<Self> {
        let (service, name) = target.split_once('.')?;
        Self::from_name(name).filter(|_| service == "DynamoDB_20120810")
    }

    /// True if the operation may change items.
    pub fn is_write(self) -> bool {
        self.is_single_write() || matches!(self, Self::BatchWriteItem | Self::TransactWriteItems)
    }

    /// True if the operation changes one item.
    pub(crate) fn is_single_write(self) -> bool {
        matches!(self, Self::PutItem | Self::UpdateItem | Self::DeleteItem)
    }

    /// True if the operation is a transaction.
    pub(crate) fn is_transaction(self) -> bool {
        matches!(self, Self::TransactWriteItems | Self::TransactGetItems)
    }

    /// True if the operation reads items and changes none.
    pub fn is_read(self) -> bool {
        matches!(self, Self::GetItem | Self::BatchGetItem | Self::TransactGetItems | Self::Query | Self::Scan)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_service() {
        let put = Operation::from_target("DynamoDB_20120810.PutItem");
        assert_eq!(put, Some(Operation::PutItem));
        assert_eq!(Operation::from_target("DynamoDBStreams_20120810.PutItem"), None);
        assert_eq!(Operation::from_target("DynamoDB_20120810.Drop"), None);
        assert_eq!(Operation::from_target("DynamoDB_20120810.ExecuteStatement"), None, "PartiQL");
    }
}
