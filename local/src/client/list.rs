//! The arguments of the commands that print a list page by page.

use lately_client::ListQuery;
use lately_model::PageSize;

/// The size and the start of a list's page.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArguments {
    /// Entries per page: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "50")]
    limit: PageSize,

    /// Continue after an earlier page, from the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl ListArguments {
    pub(crate) fn query(self) -> ListQuery {
        ListQuery { limit: Some(self.limit.get()), cursor: self.cursor }
    }
}
