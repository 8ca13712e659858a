//! The options with which the system is started.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use lately_pump::PumpFaults;

use crate::seconds;

/// How the system is started.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeOptions {
    /// Port of the API, on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 3000, value_name = "PORT")]
    pub port: u16,

    /// Port of DynamoDB, on 127.0.0.1; 0 for any that is free
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    pub dynamodb_port: u16,

    /// Address of DynamoDB, if containers are to reach it: of the network that they are on. Any credentials are good
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS", value_parser = parse_host)]
    pub dynamodb_host: IpAddr,

    /// Keep the table in this folder; without it, it lives as long as the process
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Start without demo topics
    #[arg(long)]
    pub no_demo: bool,

    /// What goes wrong with the stream: chances of duplicate, crash-before and crash-after, and a delay in seconds,
    /// as in duplicate=0.2,crash-after=0.1,delay=3
    #[arg(long, value_name = "FAULTS", default_value = "", hide_default_value = true, value_parser = parse_faults)]
    pub stream_faults: PumpFaults,

    /// How often what is new in the demo topic billing is reported: 30s, 1m or 2h; never turns it off
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_every)]
    pub report_every: ReportInterval,

    /// Log each request as a JSON line
    #[arg(long)]
    pub log: bool,
}

/// How often a report is made, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportInterval(pub Option<Duration>);

fn parse_every(text: &str) -> Result<ReportInterval, String> {
    let seconds = if ["never", "0"].contains(&text) { Some(0) } else { seconds::parse(text) };
    let seconds = seconds.ok_or_else(|| "must be a number and s, m, h or d, or never".to_owned())?;
    Ok(ReportInterval((seconds > 0).then(|| Duration::from_secs(seconds.into()))))
}

/// An address at which only this machine is asked, or a network of its own. Never all addresses: who asks is not asked for
/// credentials.
fn parse_host(text: &str) -> Result<IpAddr, String> {
    let host: IpAddr = text.parse().map_err(|_| "must be an IP address".to_owned())?;
    let is_private = match host {
        IpAddr::V4(host) => host.is_loopback() || host.is_private(),
        IpAddr::V6(host) => host.is_loopback() || host.is_unique_local(),
    };
    is_private.then_some(host).ok_or_else(|| "must be of this machine or of a private network".to_owned())
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
    fn a_report_is_made_every_so_often_or_never() {
        let minute = ReportInterval(Some(Duration::from_secs(60)));
        assert_eq!(parse_every("1m"), Ok(minute));
        assert_eq!(parse_every("1s"), Ok(ReportInterval(Some(Duration::from_secs(1)))));
        for never in ["never", "0", "0s"] {
            assert_eq!(parse_every(never), Ok(ReportInterval(None)));
        }
        for text in ["", "1", "often", "-1s", "1.5m"] {
            assert!(parse_every(text).is_err(), "{text}");
        }
        let said = Lately::try_parse_from(["lately"]).expect("nothing needs to be said");
        assert_eq!(said.options.report_every, minute);
    }

    #[test]
    fn dynamodb_is_served_to_private_networks_at_most() {
        for host in ["127.0.0.1", "172.17.0.1", "192.168.65.254", "10.88.0.1", "::1", "fd00::1"] {
            assert_eq!(parse_host(host), Ok(host.parse().expect("an address")));
        }
        for host in ["", "localhost", "0.0.0.0", "::", "172.32.0.1", "203.0.113.7", "2001:db8::1"] {
            assert!(parse_host(host).is_err(), "{host}");
        }
        let said = Lately::try_parse_from(["lately"]).expect("nothing needs to be said");
        assert!(said.options.dynamodb_host.is_loopback());
    }

    #[test]
    fn faults_are_named_each_with_its_number() {
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
