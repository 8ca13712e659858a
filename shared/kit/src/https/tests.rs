//! Against small servers on loopback.
//!
//! `localhost.der` is a certificate of its own key's, `localhost.key.der` that key: made with openssl for these tests alone,
//! good for `localhost` until 2126.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedHttpClient};
use http_body_util::BodyExt;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;

const CERTIFICATE: &[u8] = include_bytes!("localhost.der");
const KEY: &[u8] = include_bytes!("localhost.key.der");

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

const SOON: Duration = Duration::from_millis(200);

/// A server that does as it is told, in a thread of its own.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpListener) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    (listener.local_addr().unwrap(), std::thread::spawn(move || serve(listener)))
}

/// Reads a request to its end: its head in small letters, or nothing if the connection ends.
fn request(connection: &TcpStream) -> String {
    let mut reader = BufReader::new(connection);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return head;
        }
        line.make_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    head
}

fn accept(listener: &TcpListener) -> TcpStream {
    listener.accept().unwrap().0
}

fn say(mut connection: &TcpStream, words: &str) {
    connection.write_all(words.as_bytes()).unwrap();
}

fn https() -> Https {
    Https::new(TrustRoots::Amazon)
}

/// What is answered to a GET, in whole, by a server that takes its time.
async fn get(https: &Https, url: &str) -> Result<String, ConnectorError> {
    get_within(Duration::from_secs(60), https, url).await
}

/// The same, if a connection and an answer each come within a time.
async fn get_within(time: Duration, https: &Https, url: &str) -> Result<String, ConnectorError> {
    let settings = HttpConnectorSettings::builder().connect_timeout(time).read_timeout(time).build();
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_uri(url).unwrap();
    let answer = https.connector(&settings).call(request).await?;
    let body = answer.into_body().collect().await.map_err(ConnectorError::io)?;
    Ok(String::from_utf8(body.to_bytes().into()).unwrap())
}

#[tokio::test]
async fn a_connection_is_used_again_until_it_was_idle_for_long() {
    let (address, served) = server(|listener| {
        let connection = accept(&listener);
        let mut heads = Vec::new();
        for _ in 0..3 {
            heads.push(request(&connection));
            say(&connection, HELLO);
        }
        (heads, connection)
    });
    let https = https();
    for _ in 0..3 {
        assert_eq!(get(&https, &format!("http://{address}/a?b=c")).await.unwrap(), "hello");
    }
    let (heads, _connection) = served.join().unwrap();
    for head in heads {
        assert!(head.starts_with("get /a?b=c http/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nhost: {address}\r\n")), "{head}");
    }
    let kept = https.kept();
    let [connection] = &kept[..] else { panic!("{} are kept", kept.len()) };
    assert!(connection.is_good(connection.used + CONNECTION_KEPT / 2));
    assert!(!connection.is_good(connection.used + CONNECTION_KEPT));
}

#[tokio::test]
async fn what_two_calls_need_at_once_is_two_connections() {
    let (address, served) = server(|listener| {
        let connections = [accept(&listener), accept(&listener)];
        for connection in connections.iter().chain(&connections) {
            request(connection);
            say(connection, HELLO);
        }
    });
    let (https, url) = (https(), format!("http://{address}/"));
    for _ in 0..2 {
        let (first, second) = tokio::join!(get(&https, &url), get(&https, &url));
        assert_eq!((&*first.unwrap(), &*second.unwrap()), ("hello", "hello"));
    }
    served.join().unwrap();
    assert_eq!(https.kept().len(), 2);
}

#[tokio::test]
async fn a_request_goes_over_another_connection_if_the_one_it_had_was_closed_while_nobody_looked() {
    let ((has_read, is_read), (has_closed, is_closed)) = (mpsc::channel(), mpsc::channel());
    let (address, served) = server(move |listener| {
        let connection = accept(&listener);
        request(&connection);
        say(&connection, HELLO);
        is_read.recv().unwrap();
        drop(connection);
        has_closed.send(()).unwrap();
        let connection = accept(&listener);
        request(&connection);
        say(&connection, HELLO);
    });
    let (https, url) = (https(), format!("http://{address}/"));
    assert_eq!(get(&https, &url).await.unwrap(), "hello");
    has_read.send(()).unwrap();
    // As when the process is frozen: nothing runs, and the server's end has come when it goes on.
    is_closed.recv().unwrap();
    let looks_open = https.kept()[0].is_good(clock::monotonic_now());
    assert!(looks_open);
    assert_eq!(get(&https, &url).await.unwrap(), "hello");
    served.join().unwrap();
}

#[tokio::test]
async fn a_request_that_may_have_arrived_is_not_sent_again() {
    let (address, served) = server(|listener| {
        let connection = accept(&listener);
        request(&connection);
        say(&connection, HELLO);
        assert!(!request(&connection).is_empty());
        drop(connection);
        listener.set_nonblocking(true).unwrap();
        std::thread::sleep(SOON);
        listener.accept().is_err()
    });
    let (https, url) = (https(), format!("http://{address}/"));
    assert_eq!(get(&https, &url).await.unwrap(), "hello");
    let error = get(&https, &url).await.unwrap_err();
    assert!(error.is_io(), "{error:?}");
    assert!(served.join().unwrap(), "it was sent again");
}

#[tokio::test]
async fn a_connection_takes_no_longer_than_it_may_and_neither_does_tls() {
    // Which takes connections, and says nothing.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let error = get_within(SOON, &https(), &url).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(error.into_source().to_string().starts_with("a connection took longer"));

    drop(listener);
    let error = get(&https(), &url).await.unwrap_err();
    assert!(error.is_io(), "{error:?}");
}

#[tokio::test]
async fn an_answer_takes_no_longer_than_it_may_and_its_connection_goes_with_it() {
    let (address, served) = server(|listener| {
        let connection = accept(&listener);
        request(&connection);
        // Waits for the end.
        request(&connection)
    });
    let https = https();
    let error = get_within(SOON, &https, &format!("http://{address}/")).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert!(https.kept().is_empty());
    tokio::task::yield_now().await;
    assert_eq!(served.join().unwrap(), "");
}

#[tokio::test]
async fn a_body_may_come_in_pieces_and_ends_where_it_says() {
    let (address, served) = server(|listener| {
        let connection = accept(&listener);
        request(&connection);
        for piece in
            ["HTTP/1.1 200 OK\r\ntransfer-", "encoding: chunked\r\n\r\n", "3\r\nhel\r\n", "2\r\nlo\r\n0"]
        {
            say(&connection, piece);
            std::thread::sleep(SOON / 10);
        }
        say(&connection, "\r\n\r\n");
        request(&connection);
        say(&connection, HELLO.trim_end_matches("lo"));
    });
    let (https, url) = (https(), format!("http://{address}/"));
    assert_eq!(get(&https, &url).await.unwrap(), "hello");
    // Cut off: what is there is not taken for all.
    assert!(get(&https, &url).await.is_err());
    served.join().unwrap();
}

#[tokio::test]
async fn a_connection_after_a_failure_of_the_servers_is_not_used_again() {
    let (address, served) = server(|listener| {
        let answers = ["500 Internal Server Error", "200 OK", "200 OK"]
            .map(|status| format!("HTTP/1.1 {status}\r\ncontent-length: 17\r\n\r\n{{\"TableNames\":[]}}"));
        let first = accept(&listener);
        request(&first);
        say(&first, &answers[0]);
        let second = accept(&listener);
        for answer in &answers[1..] {
            request(&second);
            say(&second, answer);
        }
    });
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
        .endpoint_url(format!("http://{address}"))
        .http_client(SharedHttpClient::new(https()));
    let client = aws_sdk_dynamodb::Client::from_conf(crate::aws::bounded(config).build());
    assert!(client.list_tables().send().await.is_err());
    for _ in 0..2 {
        client.list_tables().send().await.unwrap();
    }
    served.join().unwrap();
}

/// A server with TLS, whose certificate is its own; and its URL.
async fn secure_server() -> (String, tokio::task::JoinHandle<()>) {
    let key = PrivateKeyDer::try_from(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
        .unwrap();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let serving = tokio::spawn(async move {
        let tcp = listener.accept().await.unwrap().0;
        // Who does not trust it, goes.
        let Ok(mut tls) = TlsAcceptor::from(Arc::new(config)).accept(tcp).await else { return };
        assert!(tls.read(&mut [0; 1024]).await.unwrap() > 0);
        tls.write_all(HELLO.as_bytes()).await.unwrap();
    });
    (url, serving)
}

#[tokio::test]
async fn a_server_that_is_trusted_is_talked_to_and_one_that_is_not_is_an_error() {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let trusting = Https::with(TrustRoots::Amazon, OnceLock::from(TlsConnector::from(Arc::new(config))));
    let (url, serving) = secure_server().await;
    assert_eq!(get(&trusting, &url).await.unwrap(), "hello");
    serving.await.unwrap();

    for roots in [TrustRoots::Amazon, TrustRoots::Native] {
        let (url, serving) = secure_server().await;
        let error = get(&Https::new(roots), &url).await.unwrap_err();
        assert!(error.is_io(), "{error:?}");
        assert!(error.into_source().to_string().contains("invalid peer certificate"));
        serving.await.unwrap();
    }
}

#[test]
fn a_request_names_its_host_as_it_is_signed() {
    let origin = |uri: &str, host: Option<&str>| {
        let mut request = Request::new(SdkBody::empty());
        *request.uri_mut() = uri.parse().unwrap();
        if let Some(host) = host {
            request.headers_mut().insert(HOST, host.parse().unwrap());
        }
        let origin = to_origin(&mut request)?;
        let host = request.headers()[HOST].to_str()?.to_owned();
        Ok::<_, BoxError>((origin.0.to_string(), origin.1.to_string(), host, request.uri().to_string()))
    };
    for (uri, given, host, path) in [
        ("https://a.example", None, "a.example", "/"),
        ("https://a.example:443/", None, "a.example", "/"),
        ("https://a.example:80/b?c=d", None, "a.example:80", "/b?c=d"),
        ("http://127.0.0.1:8000/b", None, "127.0.0.1:8000", "/b"),
        ("http://127.0.0.1:80/b", None, "127.0.0.1", "/b"),
        ("http://[::1]:80/b", Some("given"), "given", "/b"),
    ] {
        let (scheme, authority, named, left) = origin(uri, given).unwrap();
        assert_eq!((&*named, &*left), (host, path), "{uri}");
        assert!(uri.starts_with(&format!("{scheme}://{authority}")), "{uri}");
    }
    assert!(origin("/b", None).is_err());
}
