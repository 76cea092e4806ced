//! The certificate authorities to trust.
//!
//! By default this is Mozilla's list, which is part of the program, so that it works in a minimal
//! container. Like most programs, `SSL_CERT_FILE` replaces it, because companies have authorities of
//! their own.

use crate::error::NotRung;
use outlive::environment;
use std::fs;
use std::path::PathBuf;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

pub fn roots() -> Result<RootCerts, NotRung> {
    match environment::non_empty(environment::CERTIFICATES).map(PathBuf::from) {
        Some(path) => match fs::read(&path) {
            Ok(pem) => parse(&pem).ok_or(NotRung::NoCertificates(path)),
            Err(source) => Err(NotRung::Certificates { path, source }),
        },
        None => Ok(RootCerts::WebPki),
    }
}

/// The certificates in a file; `None` if it has none. The file may contain other things too.
fn parse(pem: &[u8]) -> Option<RootCerts> {
    let certificates: Vec<Certificate<'static>> = parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    (!certificates.is_empty()).then(|| RootCerts::new_with_certs(&certificates))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(parse(certificate.as_bytes()).is_some());
        for text in ["", "words", "-----BEGIN CERTIFICATE-----\n"] {
            assert!(parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
