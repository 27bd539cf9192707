//! The clock's offset against an NTP server: one exchange of SNTP, RFC 4330 §5.

use sbi::clock::Clock;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;

/// How long an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(2);

const LENGTH: usize = 48;
/// Version 4, from a client.
const REQUEST: u8 = 0x23;
const SERVER: u8 = 4;
const UNSYNCHRONISED: u8 = 3;
/// Seconds from 1900 to 1970.
const NTP_BEGIN: i64 = 2_208_988_800;

/// What a server says of this machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How far the server's clock is ahead of ours, in microseconds.
    pub offset_us: i64,
    /// How long the exchange took on the network; the offset is right to half of it.
    pub delay_us: i64,
    /// How far the server is from a reference clock.
    pub stratum: u8,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum NotMeasured {
    /// The name or the network.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// No answer that can be used.
    #[error("no usable answer within {} s{}", PATIENCE.as_secs(), .0.map_or(String::new(), |why| format!(", only {why}")))]
    Silence(Option<&'static str>),
    /// It says that it does not want to be asked, RFC 5905 §7.4.
    #[error("the server does not want to be asked (kiss-o'-death {0:?})")]
    Kiss(String),
    /// It does not know the time itself.
    #[error("the server says that it is not synchronised itself")]
    Unsynchronised,
}

/// Asks the server at `host`, as `HOST` or `HOST:PORT`.
pub async fn measure(host: &str, clock: &Clock) -> Result<Measured, NotMeasured> {
    let server = resolved(host).await?;
    let here = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(here).await?;
    socket.connect(server).await?;
    let (sent_us, begun) = (clock.unix_us(), clock.now());
    let stamp = ntp(sent_us);
    let mut request = [0; LENGTH];
    request[0] = REQUEST;
    request[40..].copy_from_slice(&stamp.to_be_bytes());
    socket.send(&request).await?;
    let (mut unusable, mut answer) = (None, [0; 512]);
    loop {
        let length = match tokio::time::timeout_at(begun + PATIENCE, socket.recv(&mut answer)).await {
            Ok(length) => length?,
            Err(_) => return Err(NotMeasured::Silence(unusable)),
        };
        // A step of our clock meanwhile changes nothing.
        let took_us = i64::try_from(begun.elapsed().as_micros()).unwrap_or(i64::MAX);
        match read(&answer[..length], stamp) {
            Ok((stratum, received, transmitted)) => {
                return Ok(judge(stratum, stamp, received, transmitted, took_us));
            }
            Err(Unusable::Garbage(why)) => unusable = Some(why),
            Err(Unusable::Final(why)) => return Err(why),
        }
    }
}

async fn resolved(host: &str) -> io::Result<SocketAddr> {
    let is_bare_v6 = host.parse::<std::net::Ipv6Addr>().is_ok();
    let has_port = !is_bare_v6 && host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let found = match has_port {
        true => tokio::net::lookup_host(host).await?.next(),
        false => tokio::net::lookup_host((host.trim_matches(['[', ']']), 123)).await?.next(),
    };
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

/// What an answer is good for, if for nothing else.
enum Unusable {
    /// Others may send anything: it is waited on.
    Garbage(&'static str),
    /// It is the server's.
    Final(NotMeasured),
}

/// Stratum, when the request was received, and when the answer was sent.
fn read(answer: &[u8], stamp: u64) -> Result<(u8, u64, u64), Unusable> {
    let Some(answer) = answer.first_chunk::<LENGTH>() else {
        return Err(Unusable::Garbage("an answer that is too short"));
    };
    let time = |at: usize| answer[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let (leap, mode, stratum) = (answer[0] >> 6, answer[0] & 7, answer[1]);
    match (mode, stratum) {
        (SERVER, _) if time(24) != stamp => Err(Unusable::Garbage("an answer to another request")),
        (SERVER, 0) => {
            let code = answer[12..16].escape_ascii().to_string();
            Err(Unusable::Final(NotMeasured::Kiss(code)))
        }
        (SERVER, _) if leap == UNSYNCHRONISED => Err(Unusable::Final(NotMeasured::Unsynchronised)),
        (SERVER, 1..=15) if time(40) != 0 => Ok((stratum, time(32), time(40))),
        _ => Err(Unusable::Garbage("an answer that is none of NTP")),
    }
}

/// RFC 4330 §5. Differences of 64-bit timestamps are right in every era of NTP.
fn judge(stratum: u8, sent: u64, received: u64, transmitted: u64, took_us: i64) -> Measured {
    let there_us = us(received.wrapping_sub(sent));
    let back_us = us(transmitted.wrapping_sub(sent)) - took_us;
    let busy_us = us(transmitted.wrapping_sub(received));
    Measured { offset_us: (there_us + back_us) / 2, delay_us: (took_us - busy_us).max(0), stratum }
}

/// A time since the Unix epoch as NTP has it: seconds, and parts of 2^-32.
fn ntp(unix_us: i64) -> u64 {
    let seconds = unix_us.div_euclid(1_000_000).wrapping_add(NTP_BEGIN).cast_unsigned();
    let part = (unix_us.rem_euclid(1_000_000).cast_unsigned() << 32) / 1_000_000;
    (seconds << 32) | part
}

/// A difference of NTP timestamps in microseconds.
fn us(difference: u64) -> i64 {
    let signed = i128::from(difference.cast_signed());
    i64::try_from((signed * 1_000_000) >> 32).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_right_in_every_era() {
        const YEAR_US: i64 = 31_557_600_000_000;
        for years in [0, 56, 66, 67, 136] {
            for offset_us in [0, 5_000_000, -5_000_000, 3_600_000_000] {
                let (sent_us, server_us) = (years * YEAR_US, years * YEAR_US + offset_us);
                let (received, transmitted) = (ntp(server_us + 10_000), ntp(server_us + 12_000));
                let measured = judge(2, ntp(sent_us), received, transmitted, 22_000);
                assert!((measured.offset_us - offset_us).abs() <= 2, "{years} {offset_us}: {measured:?}");
                assert!((measured.delay_us - 20_000).abs() <= 2, "{measured:?}");
            }
        }
    }
}
