//! The options for starting the system.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use lately_pump::PumpFaults;
use reqwest::Url;

use crate::failure::{Failure, Result};
use crate::seconds;

/// The options for starting the system.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeOptions {
    /// The API's port; 0 for any free port
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub port: u16,

    /// The API's address: a loopback address, or one of a private network; any other needs --no-literal-tokens. private
    /// is this machine's own address in its private network, as for a container
    #[arg(long, env = "LATELY_HOST", default_value = LOOPBACK, value_name = "ADDRESS", value_parser = parse_address)]
    pub host: Host,

    /// Let web pages of this origin call the API, such as http://localhost:5173; may be repeated
    #[arg(long = "allow-origin", value_name = "ORIGIN", value_parser = parse_origin)]
    pub allowed_origins: Vec<String>,

    /// Start without the tokens dev, ada, bob and carol, which everybody knows
    #[arg(long)]
    pub no_literal_tokens: bool,

    /// DynamoDB's port; 0 for any free port
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub dynamodb_port: u16,

    /// DynamoDB's address, or private; containers need one in their own network. DynamoDB accepts any credentials
    #[arg(long, env = "LATELY_DYNAMODB_HOST", default_value = LOOPBACK, value_name = "ADDRESS", value_parser = parse_host)]
    pub dynamodb_host: Host,

    /// Keep the data in this folder [default: in memory, lost when the program ends]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Start without the demo's topics and users
    #[arg(long)]
    pub no_demo: bool,

    /// Faults of the stream: the chances of duplicate, crash-before and crash-after, and a delay in seconds, such as
    /// duplicate=0.2,crash-after=0.1,delay=3
    #[arg(long, value_name = "FAULTS", default_value = "", hide_default_value = true, value_parser = parse_faults)]
    pub stream_faults: PumpFaults,

    /// The time between two reports on the demo topic billing, such as 30s, 1m or 2h; never turns them off
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_every)]
    pub report_every: ReportInterval,

    /// Issuers whose JWTs are accepted, as in the stack's parameter Issuers; http is allowed to private addresses
    #[arg(long, value_name = "JSON", default_value = "", hide_default_value = true)]
    pub issuers: String,

    /// Log each request as a JSON line
    #[arg(long)]
    pub log: bool,
}

/// The time between two reports; `None` for no reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportInterval(pub Option<Duration>);

fn parse_every(text: &str) -> Result<ReportInterval, String> {
    if text == "never" {
        return Ok(ReportInterval(None));
    }
    let seconds = seconds::within(1.., "must be a number and s, m, h or d, at least 1s, or never")(text)?;
    Ok(ReportInterval(Some(Duration::from_secs(seconds.into()))))
}

/// The default address.
const LOOPBACK: &str = "127.0.0.1";

/// An address to listen at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// This address.
    Address(IpAddr),
    /// The address of this machine, or of this container, in its private network.
    Private,
}

impl Host {
    /// The address. `Private` is loopback if the machine has no network.
    pub(crate) fn address(self) -> Result<IpAddr> {
        // To connect a UDP socket sends nothing. It chooses the address that packets to the internet would come from.
        const OUTSIDE: (Ipv4Addr, u16) = (Ipv4Addr::new(192, 0, 2, 1), 9);
        if let Self::Address(host) = self {
            return Ok(host);
        }
        let own = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
            .and_then(|socket| socket.connect(OUTSIDE).and_then(|()| socket.local_addr()));
        let own = own.map_or(Ipv4Addr::LOCALHOST.into(), |own| own.ip());
        is_private(own).then_some(own).ok_or_else(|| {
            let text = format!("this machine's address {own} is not of a private network");
            Failure::new(1, format!("{text}: give an address instead of private"))
        })
    }

    fn is_private(self) -> bool {
        match self {
            Self::Address(host) => is_private(host),
            Self::Private => true,
        }
    }
}

impl ServeOptions {
    /// Fails if not only this machine and its private network reach the API, and everybody knows a token.
    pub(crate) fn check_strangers(&self) -> Result<()> {
        if self.no_literal_tokens || self.host.is_private() {
            return Ok(());
        }
        let (host, choose) = (self.host.address()?, "choose a loopback or private address with --host");
        let known = "everybody knows the tokens dev, ada, bob and carol: add --no-literal-tokens";
        Err(Failure::new(1, format!("other machines can reach {host}, and {known}, or {choose}")))
    }
}

fn parse_address(text: &str) -> Result<Host, String> {
    if text == "private" {
        return Ok(Host::Private);
    }
    text.parse().map(Host::Address).map_err(|_| "must be an IP address, or private".to_owned())
}

/// Parses a loopback address, or an address of a private network. Other addresses are refused, because DynamoDB here
/// accepts any credentials.
fn parse_host(text: &str) -> Result<Host, String> {
    let host = parse_address(text)?;
    host.is_private()
        .then_some(host)
        .ok_or_else(|| "must be a loopback address or an address of a private network".to_owned())
}

fn is_private(host: IpAddr) -> bool {
    match host {
        IpAddr::V4(host) => host.is_loopback() || host.is_private(),
        IpAddr::V6(host) => host.is_loopback() || host.is_unique_local(),
    }
}

/// Parses an origin as browsers write it in the header `Origin`.
fn parse_origin(text: &str) -> Result<String, String> {
    let is_own_origin =
        |url: Url| ["http", "https"].contains(&url.scheme()) && url.origin().ascii_serialization() == text;
    Url::parse(text).is_ok_and(is_own_origin).then(|| text.to_owned()).ok_or_else(|| {
        "must be a scheme and a host, in small letters and without a path, such as http://localhost:5173"
            .to_owned()
    })
}

fn parse_faults(text: &str) -> Result<PumpFaults, String> {
    let mut faults = PumpFaults::default();
    for fault in text.split(',').filter(|fault| !fault.is_empty()) {
        let (name, value) = fault.split_once('=').ok_or_else(|| format!("{fault} must be NAME=NUMBER"))?;
        let number: f64 = value.parse().map_err(|_| format!("{fault} must be a number"))?;
        let chance = (0.0..=1.0).contains(&number).then_some(number);
        let chance = || chance.ok_or_else(|| format!("{fault} must be from 0 to 1"));
        match name {
            "duplicate" => faults.duplicate = chance()?,
            "crash-before" => faults.crash_before = chance()?,
            "crash-after" => faults.crash_after = chance()?,
            "delay" => {
                faults.delay =
                    Duration::try_from_secs_f64(number).map_err(|_| format!("{fault} is too long"))?;
            }
            _ => return Err(format!("{name} must be duplicate, crash-before, crash-after or delay")),
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::command_line::Lately;

    #[test]
    fn reports_have_an_interval_or_are_off() {
        let minute = ReportInterval(Some(Duration::from_secs(60)));
        assert_eq!(parse_every("1m"), Ok(minute));
        assert_eq!(parse_every("1s"), Ok(ReportInterval(Some(Duration::from_secs(1)))));
        assert_eq!(parse_every("never"), Ok(ReportInterval(None)));
        for text in ["", "0", "0s", "1", "often", "-1s", "1.5m"] {
            assert!(parse_every(text).is_err(), "{text}");
        }
        let said = Lately::try_parse_from(["lately"]).expect("no argument is required");
        assert_eq!(said.options.report_every, minute);
    }

    #[test]
    fn dynamodb_listens_on_loopback_or_private_addresses_only() {
        for host in ["127.0.0.1", "172.17.0.1", "192.168.65.254", "10.88.0.1", "::1", "fd00::1"] {
            assert_eq!(parse_host(host), Ok(Host::Address(host.parse().expect("an address"))));
        }
        for host in ["", "localhost", "0.0.0.0", "::", "172.32.0.1", "203.0.113.7", "2001:db8::1"] {
            assert!(parse_host(host).is_err(), "{host}");
        }
        let said = Lately::try_parse_from(["lately"]).expect("no argument is required");
        assert_eq!(said.options.dynamodb_host, Host::Address(Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn private_is_an_address_that_strangers_do_not_reach() {
        assert_eq!(parse_host("private"), Ok(Host::Private));
        match Host::Private.address() {
            Ok(host) => assert!(is_private(host), "{host}"),
            Err(refused) => assert!(refused.to_string().contains("is not of a private network"), "{refused}"),
        }
    }

    #[test]
    fn other_addresses_of_the_api_need_that_nobody_knows_a_token() {
        let closed = |arguments: &[&str]| {
            let arguments = ["lately"].iter().chain(arguments);
            Lately::try_parse_from(arguments).expect("valid arguments").options.check_strangers().is_ok()
        };
        for host in ["127.0.0.1", "10.88.0.1", "::1", "fd00::1", "private"] {
            assert!(closed(&["--host", host]), "{host}");
        }
        for host in ["0.0.0.0", "::", "203.0.113.7"] {
            assert!(!closed(&["--host", host]), "{host}");
            assert!(closed(&["--host", host, "--no-literal-tokens"]), "{host}");
        }
        assert!(Lately::try_parse_from(["lately", "--host", "localhost"]).is_err());
    }

    #[test]
    fn an_allowed_origin_is_a_scheme_and_a_host() {
        for origin in ["http://localhost:5173", "https://app.example.org", "http://[::1]:8080"] {
            assert_eq!(parse_origin(origin), Ok(origin.to_owned()));
        }
        for origin in ["", "*", "null", "localhost:5173", "http://", "http://localhost/", "http://LOCALHOST"]
        {
            assert!(parse_origin(origin).is_err(), "{origin}");
        }
    }

    #[test]
    fn faults_are_names_with_numbers() {
        let faults = parse_faults("duplicate=0.25,delay=1.5,crash-after=1").expect("well-formed");
        let expected = PumpFaults {
            duplicate: 0.25,
            delay: Duration::from_millis(1500),
            crash_after: 1.0,
            ..PumpFaults::default()
        };
        assert_eq!(faults, expected);
        assert_eq!(parse_faults(""), Ok(PumpFaults::default()));
        for text in ["duplicate", "duplicate=2", "duplicate=x", "delay=-1", "flood=1"] {
            assert!(parse_faults(text).is_err(), "{text}");
        }
    }
}
