//! The text that the program prints at its start: addresses, folders, and commands that can be copied unchanged.

use std::io::Write;
use std::net::SocketAddr;

use crate::serve::demo::DemoState;
use crate::serve::folders::Folders;
use crate::serve::options::{ReportInterval, ServeOptions};

/// The line behind the text, when the demo's events and follows are written.
pub(crate) const DEMO_IS_COMPLETE: &str = "The demo data is complete.";

pub(crate) fn print(
    out: &mut dyn Write,
    (api, dynamodb): (SocketAddr, SocketAddr),
    folders: &Folders,
    demo: DemoState,
    options: &ServeOptions,
) -> std::io::Result<()> {
    let data = match &options.data {
        Some(folder) => format!("stored in {}", folder.display()),
        None => "in memory, lost when this program ends; --data DIR stores it".to_owned(),
    };
    let (failures, reports) = (folders.failures.display(), folders.reports.display());
    let of_billing = match options.report_every {
        ReportInterval(Some(_)) if demo != DemoState::Absent => {
            "   of the topic billing; each prints a line here"
        }
        _ => "",
    };
    let tokens = if options.no_literal_tokens { "none" } else { "dev (admin) · ada, bob, carol (users)" };
    let writing = match demo {
        DemoState::New => {
            "  Demo      its events are still being written; a line says when they are complete\n"
        }
        _ => "",
    };
    let commands = match options.no_literal_tokens {
        // The commands to try need the literal tokens.
        true => {
            format!("Create a token:\n\n  lately token create --local=http://{dynamodb} --scope admin\n")
        }
        false => examples(api, options),
    };
    write!(
        out,
        r#"Lately is running.

  Console   http://{api}/
  API       http://{api}
  DynamoDB  http://{dynamodb}   table lately, any credentials
  Data      {data}
  Failures  {failures}   batches that fan-out gave up on: lately dlq list --folder …
  Reports   {reports}{of_billing}
  Tokens    {tokens}
{writing}
{commands}
Stop with Ctrl-C.
"#
    )?;
    out.flush()
}

/// Requests to try with the literal tokens.
fn examples(api: SocketAddr, options: &ServeOptions) -> String {
    let mut examples = format!(
        r#"Try it:

  curl -s -X PUT http://{api}/topics/hello -H 'Authorization: Bearer dev' -d '{{}}'
  curl -s http://{api}/topics/hello/events -H 'Authorization: Bearer ada' -d '{{"type":"greeting","actor":"ada","data":{{"text":"hi"}}}}'
  curl -s 'http://{api}/topics/hello/events?limit=10' -H 'Authorization: Bearer ada'
"#
    );
    if !options.no_demo {
        examples += &format!(
            r#"  curl -si 'http://{api}/topics/posts/events?limit=5' -H 'Authorization: Bearer bob'
  curl -s 'http://{api}/topics/billing/events?type=invoice.paid&limit=5' -H 'Authorization: Bearer dev'
  curl -s -X PUT http://{api}/users/carol/following/actor:ada -H 'Authorization: Bearer carol'
  curl -s 'http://{api}/feeds/bob?limit=5' -H 'Authorization: Bearer bob'
  curl -s -X PUT http://{api}/topics/billing/consumers/me -H 'Authorization: Bearer dev' -d '{{"start":"earliest"}}'
  curl -s -X POST http://{api}/topics/billing/consumers/me/poll -H 'Authorization: Bearer dev' -d '{{"limit":3}}'
  lately consume billing printer --follow --url http://{api}
"#
        );
    }
    examples
}
