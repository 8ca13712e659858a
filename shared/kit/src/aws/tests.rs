//! The SDK's HTTP client, as far as Lately relies on it, against small servers on loopback.
//!
//! `tests/localhost.pem` is a self-signed certificate and `localhost.key.der` is its key. They were made with openssl
//! for these tests alone, for the name `localhost`, and expire in 2126.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::HttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use http_body_util::BodyExt;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;

const CERTIFICATE: &[u8] = include_bytes!("tests/localhost.pem");
const KEY: &[u8] = include_bytes!("tests/localhost.key.der");

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

const SOON: Duration = Duration::from_millis(200);

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs `serve` in a thread of its own.
fn server<T: Send + 'static>(
    serve: impl FnOnce(TcpListener) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    (listener.local_addr().unwrap(), std::thread::spawn(move || serve(listener)))
}

/// Reads a request to its end: its head in lower case, or an empty text if the connection ends.
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

fn connecting_within(time: Duration) -> HttpConnectorSettings {
    HttpConnectorSettings::builder().connect_timeout(time).build()
}

fn https() -> SharedHttpConnector {
    connector(TrustRoots::Amazon, connecting_within(PATIENCE))
}

/// The whole body of the response to a GET.
async fn get(https: &SharedHttpConnector, url: &str) -> Result<String, ConnectorError> {
    let mut request = HttpRequest::new(SdkBody::empty());
    request.set_uri(url).unwrap();
    let answer = https.call(request).await?;
    let body = answer.into_body().collect().await.map_err(ConnectorError::io)?;
    Ok(String::from_utf8(body.to_bytes().into()).unwrap())
}

#[tokio::test]
async fn a_connection_is_reused() {
    let (address, served) = server(|listener| {
        let connection = accept(&listener);
        for _ in 0..3 {
            request(&connection);
            say(&connection, HELLO);
        }
    });
    let https = https();
    for _ in 0..3 {
        assert_eq!(get(&https, &format!("http://{address}/a?b=c")).await.unwrap(), "hello");
    }
    served.join().unwrap();
}

#[tokio::test]
async fn a_request_survives_a_closed_idle_connection() {
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
    // This imitates a frozen process: nothing runs, and the end of the connection arrives with the next event.
    is_closed.recv().unwrap();
    tokio::task::yield_now().await;
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
    get(&https, &url).await.unwrap_err();
    assert!(served.join().unwrap(), "it was sent again");
}

#[tokio::test]
async fn connecting_and_the_tls_handshake_time_out() {
    // This server accepts connections and sends nothing.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let error = get(&connector(TrustRoots::Amazon, connecting_within(SOON)), &url).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");

    drop(listener);
    let error = get(&https(), &url).await.unwrap_err();
    assert!(error.is_io(), "{error:?}");
}

/// A TLS server with a self-signed certificate, and its URL.
async fn secure_server() -> (String, tokio::task::JoinHandle<()>) {
    let key = PrivateKeyDer::try_from(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()], key)
        .unwrap();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let serving = tokio::spawn(async move {
        let tcp = listener.accept().await.unwrap().0;
        // A client that does not trust the certificate closes the connection.
        let Ok(mut tls) = TlsAcceptor::from(Arc::new(config)).accept(tcp).await else { return };
        assert!(tls.read(&mut [0; 1024]).await.unwrap() > 0);
        tls.write_all(HELLO.as_bytes()).await.unwrap();
    });
    (url, serving)
}

#[tokio::test]
async fn only_a_server_with_a_trusted_certificate_is_used() {
    let trusting = Connector::builder().tls_provider(TLS);
    let trusting = trusting.tls_context(tls_context(TrustStore::empty().with_pem_certificate(CERTIFICATE)));
    let (url, serving) = secure_server().await;
    assert_eq!(get(&SharedHttpConnector::new(trusting.build()), &url).await.unwrap(), "hello");
    serving.await.unwrap();

    for roots in [TrustRoots::Amazon, TrustRoots::Native] {
        let (url, serving) = secure_server().await;
        let error = get(&connector(roots, connecting_within(PATIENCE)), &url).await.unwrap_err();
        assert!(format!("{error:?}").contains("InvalidCertificate"), "{error:?}");
        serving.await.unwrap();
    }
}

/// The variables that the platform sets.
const PLATFORM: [(&str, &str); 4] = [
    ("AWS_REGION", "eu-central-1"),
    ("AWS_ACCESS_KEY_ID", "key"),
    ("AWS_SECRET_ACCESS_KEY", "secret"),
    ("AWS_SESSION_TOKEN", "token"),
];

fn environment(vars: &[(&str, &str)]) -> Result<Environment, EnvironmentError> {
    of_vars(|name| vars.iter().find(|var| var.0 == name).map(|var| var.1.to_owned()))
}

#[test]
fn calls_have_timeouts_and_no_retries() {
    let config = bounded(Builder::new()).build();
    assert_eq!(config.retry_config().unwrap().max_attempts(), 1);
    let timeouts = config.timeout_config().unwrap();
    assert_eq!(timeouts.operation_timeout(), Some(CALL_TIMEOUT));
    assert_eq!(timeouts.connect_timeout(), Some(CONNECT_TIMEOUT));
}

#[tokio::test]
async fn a_call_ends_if_its_response_does_not_begin() {
    let environment = environment(&PLATFORM).unwrap();
    // This server reads the request, sends nothing and leaves the connection open.
    let (address, _served) = server(|listener| {
        let connection = accept(&listener);
        request(&connection);
        connection
    });
    let sdk = environment.sdk.to_builder().endpoint_url(format!("http://{address}")).build();
    let client = Environment { sdk, ..environment }.client();
    let begun = tokio::time::Instant::now();
    tokio::time::pause();
    let error = client.describe_endpoints().send().await.unwrap_err();
    assert!(error.as_service_error().is_none(), "{error:?}");
    assert!((READ_TIMEOUT..CALL_TIMEOUT).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_function_reads_its_identity_from_its_environment_alone() {
    use aws_sdk_dynamodb::config::ProvideCredentials;

    let Environment { sdk: config, roots } = environment(&PLATFORM).unwrap();
    assert_eq!(roots, TrustRoots::Amazon);
    assert_eq!(config.region(), Some(&Region::from_static("eu-central-1")));
    assert_eq!(config.endpoint_url(), None);
    let credentials = config.credentials_provider().unwrap().provide_credentials().await.unwrap();
    assert_eq!((credentials.access_key_id(), credentials.secret_access_key()), ("key", "secret"));
    assert_eq!((credentials.session_token(), credentials.expiry()), (Some("token"), None));

    let elsewhere = [&PLATFORM[..], &[("AWS_ENDPOINT_URL", "http://127.0.0.1:8000")]].concat();
    assert_eq!(environment(&elsewhere).unwrap().sdk.endpoint_url(), Some("http://127.0.0.1:8000"));
}

#[test]
fn a_missing_variable_is_named() {
    for (index, (name, _)) in PLATFORM.into_iter().enumerate().take(3) {
        let mut vars = PLATFORM.to_vec();
        vars.remove(index);
        assert_eq!(environment(&vars).unwrap_err(), EnvironmentError::Missing(name));
    }
    let roots = |roots| {
        let vars = [&PLATFORM[..], &[("TRUST_ROOTS", roots)]].concat();
        environment(&vars).map(|environment| environment.roots)
    };
    assert_eq!(roots("native"), Ok(TrustRoots::Native));
    assert_eq!(roots("all"), Err(EnvironmentError::TrustRoots));
}
