//! `swerex:URL`: executes with a server of SWE-ReX, over its `/execute`.
//!
//! That server does one thing at a time: while a command runs, it answers nobody else. So no call waits there for long. The
//! environment of a command is its own, and only its user can see it, so requests travel in it.

use outlive::config::{Secret, Url};
use outlive::environment;
use outlive::places::Unreached;
use outlive::places::tunnel::{Execute, Execution, Failed, Nature, Private, Text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{RootCerts, TlsConfig};

/// The way there and back.
const TRAVEL: Duration = Duration::from_secs(10);

/// The longest answer.
const MAX_ANSWER: u64 = 64 * 1024 * 1024;

pub struct Server {
    agent: Agent,
    url: String,
    token: Option<String>,
}

#[derive(Serialize)]
struct Command<'a> {
    command: &'a str,
    shell: bool,
    timeout: f64,
    /// Without it, the command has the environment of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<BTreeMap<&'a str, &'a str>>,
}

#[derive(Deserialize)]
struct Executed {
    #[serde(default)]
    stdout: String,
    #[serde(default)]
    stderr: String,
    exit_code: Option<i64>,
}

#[derive(Deserialize)]
struct Raised {
    swerexception: Exception,
}

#[derive(Deserialize)]
struct Exception {
    #[serde(default)]
    message: String,
    #[serde(default)]
    class_path: String,
}

impl Server {
    pub fn new(url: &str, token: Option<&Secret>) -> Result<Server, Unreached> {
        let denied = |error: outlive_doorbell::NotRung| Unreached::Denied(error.to_string());
        let token = match token {
            Some(secret) => Some(outlive_doorbell::read_secret(secret).map_err(denied)?),
            None => environment::non_empty(environment::SWEREX_TOKEN)
                .map(|token| token.into_encoded_bytes()),
        };
        let unreadable = |_| Unreached::Denied("its token is no plain text".to_owned());
        let token = token
            .map(String::from_utf8)
            .transpose()
            .map_err(unreadable)?;
        let parsed = Url::parse(url);
        let roots = match parsed.as_ref().is_some_and(Url::is_https) {
            true => outlive_doorbell::roots().map_err(denied)?,
            false => RootCerts::WebPki,
        };
        let config = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("outlive/", env!("CARGO_PKG_VERSION")));
        let is_here = parsed.as_ref().is_some_and(Url::is_loopback);
        let agent = match is_here {
            true => config.proxy(None).build(),
            false => config.build(),
        };
        Ok(Server {
            agent: agent.into(),
            url: format!("{url}/execute"),
            token,
        })
    }

    fn post(&self, body: &[u8], limit: Duration) -> Result<(StatusCode, Vec<u8>), ureq::Error> {
        let mut request = self
            .agent
            .post(&self.url)
            .config()
            .timeout_global(Some(limit))
            .build()
            .header("Content-Type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("X-API-Key", token);
        }
        let mut response = request.send(body)?;
        let status = response.status();
        let answer = response.body_mut().with_config().limit(MAX_ANSWER);
        Ok((status, answer.read_to_vec()?))
    }
}

impl Execute for Server {
    fn nature(&self) -> Result<Nature, Unreached> {
        Ok(Nature {
            is_serial: true,
            private: Some(Private::Variable(environment::REQUEST)),
        })
    }

    fn execute(&self, execution: &Execution<'_>) -> Result<Text, Failed> {
        let private = execution.private;
        let command = Command {
            command: execution.command,
            shell: true,
            timeout: execution.limit.as_secs_f64(),
            env: private.map(|text| BTreeMap::from([(environment::REQUEST, text)])),
        };
        let body = serde_json::to_vec(&command);
        let body = body.map_err(|error| Failed::Broken(error.to_string()))?;
        match self.post(&body, execution.limit + TRAVEL) {
            Ok((status, answer)) => self.text(status, &answer),
            Err(ureq::Error::Timeout(_)) => Err(Failed::TimedOut),
            Err(error) => Err(Failed::Broken(error.to_string())),
        }
    }
}

impl Server {
    fn text(&self, status: StatusCode, answer: &[u8]) -> Result<Text, Failed> {
        let final_ = |why: Unreached| Err(Failed::Unreached(why));
        match status.as_u16() {
            200 => {}
            401 | 403 => {
                let advice = match self.token {
                    Some(_) => "it refuses the token; is it the one of the server?",
                    None => "it wants a token: name one with token_env or token_file",
                };
                return final_(Unreached::Denied(advice.to_owned()));
            }
            404 | 405 | 422 => {
                let why = format!("no server of SWE-ReX answers there (status {status})");
                return final_(Unreached::NotUnderstood(why));
            }
            _ => {
                let Ok(Raised { swerexception }) = serde_json::from_slice(answer) else {
                    return Err(Failed::Broken(format!("it answered with status {status}")));
                };
                return match swerexception.class_path.ends_with("CommandTimeoutError") {
                    true => Err(Failed::TimedOut),
                    false => Err(Failed::Broken(swerexception.message)),
                };
            }
        }
        let executed: Executed = serde_json::from_slice(answer)
            .map_err(|error| Failed::Broken(format!("its answer cannot be read: {error}")))?;
        let code = executed.exit_code.filter(|code| *code != 0);
        let how = code.map(|code| format!("the command ended with exit code {code}"));
        let remarks = [Some(executed.stderr.trim().to_owned()), how];
        let remarks = remarks
            .into_iter()
            .flatten()
            .filter(|part| !part.is_empty());
        Ok(Text {
            output: executed.stdout.into_bytes(),
            remark: remarks.collect::<Vec<_>>().join("; "),
        })
    }
}
