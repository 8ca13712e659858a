//! The arguments of the commands that print a page of a list.

use lately_client::ListQuery;
use lately_model::PageSize;

/// The size and the start of a list's page.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArguments {
    /// Entries per page: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "50")]
    pub(super) limit: PageSize,

    /// Continue after an earlier page, from the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    pub(super) cursor: Option<String>,
}

impl ListArguments {
    pub(super) fn query(self) -> ListQuery {
        ListQuery { limit: Some(self.limit.get()), cursor: self.cursor }
    }
}
