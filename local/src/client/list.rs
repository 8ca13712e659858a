//! Lists that go on: so many of them, and from where.

use lately_model::PageSize;

/// How much of a list.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// How many: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "50")]
    limit: PageSize,

    /// Go on from where a list ended
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl ListArguments {
    pub(crate) fn query(self) -> [(&'static str, Option<String>); 2] {
        [("limit", Some(self.limit.get().to_string())), ("cursor", self.cursor)]
    }
}
