//! Every published figure, reproduced by one command.
//!
//! | command | prints |
//! | --- | --- |
//! | `cargo bench -p lately-bench --bench keys` | what ids, keys and cursors cost in time |
//! | `cargo bench -p lately-bench --bench engine` | what a call to the embedded engine costs in time |
//! | `cargo run -p lately-bench --release -- cold-start` | how fast each function starts, what it takes and how large it is |
//! | `cargo bench -p lately-bench --bench prices` | what writing, reading and delivering events costs at DynamoDB |

use std::sync::LazyLock;

use lately_engine::TableDefinition;
use lately_engine::template::Template;

/// The table, as the project's template declares it.
pub static DEFINITION: LazyLock<TableDefinition> = LazyLock::new(|| {
    let template = Template::parse(include_str!("../../template.yaml")).expect("the project's template");
    template.table().expect("the template declares one table")
});
