//! `place connect`: logs in, in the terminal, and leaves a connection that couriers use.
//!
//! Couriers ask nobody for a password or a second factor. So a person logs in here, once. The `ssh` that is left in the
//! background is a master connection in the directory of the place: whoever can connect to its socket is logged in, and
//! only the user can.

use super::resolve;
use crate::environment;
use crate::error::{Error, PlaceError};
use crate::home::outlive::Outlive;
use crate::places::transport::{MASTER, ssh_options};
use crate::places::{Place, Unreached, dial, records};
use outlive_api::place::PlaceConnected;
use outlive_core::place::{Address, SshHost};
use outlive_sys::spawn;
use std::fs;
use std::process::{Command, ExitStatus, Stdio};

/// A place that is logged in to with `ssh`.
#[derive(Debug)]
pub struct Login {
    pub(super) place: Place,
    host: SshHost,
}

/// What the master connection may not do. It is asked for a password or more, so it is not a batch.
const OPTIONS: [&str; 8] = [
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "ControlMaster=yes",
    // A dead network ends it.
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
];

/// Logs in to a place with the standard input and output of this process.
pub fn connect(outlive: &Outlive, name: &str) -> Result<PlaceConnected, Error> {
    let place = resolve(outlive, name)?;
    let Address::Ssh(host) = place.address.clone() else {
        return Err(PlaceError::NoLogin(place.name).into());
    };
    let login = Login { place, host };
    let directory = records::make_directory(outlive, &login.place)?;
    let already = login.is_connected(outlive)?;
    if !already {
        // What is left of one that was killed.
        let _ = fs::remove_file(directory.join(MASTER));
        let mut command = login.ssh(outlive)?;
        command.args(["-N", "-f"]);
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        let status = login.run(&mut command)?;
        if !status.success() {
            let why = Unreached::Denied("ssh did not log in".to_owned());
            let place = login.place.name;
            return Err(PlaceError::Unreached { place, why }.into());
        }
        // The next verb reaches the place through this connection.
        dial::leave(outlive, &login.place)?;
    }
    Ok(PlaceConnected {
        name: login.place.name,
        already,
    })
}

/// Ends the connection that [`connect`] left, if there is one.
pub(super) fn disconnect(outlive: &Outlive, place: &Place) {
    if let Address::Ssh(host) = place.address.clone() {
        let login = Login {
            place: place.clone(),
            host,
        };
        if records::directory(outlive, place).join(MASTER).exists() {
            let _ = login.control(outlive, "exit");
        }
    }
}

impl Login {
    fn is_connected(&self, outlive: &Outlive) -> Result<bool, Error> {
        let socket = records::directory(outlive, &self.place).join(MASTER);
        Ok(socket.exists() && self.control(outlive, "check")?.success())
    }

    /// Asks the master connection for something.
    fn control(&self, outlive: &Outlive, what: &str) -> Result<ExitStatus, Error> {
        let mut command = self.ssh(outlive)?;
        command.args(["-O", what]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.run(&mut command)
    }

    /// `ssh` in the directory of the place, where the socket has a short name.
    fn ssh(&self, outlive: &Outlive) -> Result<Command, Error> {
        let program = environment::on_path("ssh").ok_or_else(|| PlaceError::Unreached {
            place: self.place.name.clone(),
            why: Unreached::Refused(
                "there is no program \"ssh\" here; install the client of OpenSSH".to_owned(),
            ),
        })?;
        let mut command = Command::new(program);
        command.current_dir(records::directory(outlive, &self.place));
        command.args(["-o", &format!("ControlPath={MASTER}")]);
        command.args(ssh_options(&self.host));
        Ok(command)
    }

    fn run(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        command.args(["--", &self.host.host]);
        let started = spawn::start(command).and_then(|mut child| child.wait());
        started.map_err(Error::io("cannot run", command.get_program()))
    }
}
