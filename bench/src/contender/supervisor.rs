//! supervisord: one Python process that runs what its configuration defines.

use super::{Contender, Entry, Output, directory, output_of, program, quoted};
use crate::BenchError;
use crate::processes::until;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub const ENTRY: Entry = Entry {
    name: "supervisord",
    make: |_, dir| {
        let control = program("supervisorctl")?;
        let daemon = program("supervisord")?;
        let at = dir.display();
        let settings = format!(
            "[unix_http_server]\nfile={at}/s\n\
             [supervisord]\nlogfile={at}/log\npidfile={at}/pid\nchildlogdir={at}\nminfds=8192\n\
             [rpcinterface:supervisor]\n\
             supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n\
             [supervisorctl]\nserverurl=unix://{at}/s\n\
             [include]\nfiles={at}/programs/*.conf\n"
        );
        directory(dir.join("programs"))?;
        let mut supervisor = Supervisor {
            control,
            dir,
            started: 0,
        };
        supervisor.write("true", &["true"], false)?;
        fs::write(supervisor.settings(), settings).map_err(|error| error.to_string())?;
        output_of(Command::new(daemon).arg("-c").arg(supervisor.settings()))?;
        until("supervisord answers", || {
            supervisor.control(&["pid"]).is_ok()
        })?;
        Ok(Box::new(supervisor))
    },
};

struct Supervisor {
    control: PathBuf,
    dir: PathBuf,
    started: usize,
}

impl Supervisor {
    fn settings(&self) -> PathBuf {
        self.dir.join("conf")
    }

    fn write(&mut self, name: &str, argv: &[&str], autostart: bool) -> Result<(), BenchError> {
        let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
        let text = format!(
            "[program:{name}]\ncommand={}\nautostart={autostart}\nautorestart=false\nstartsecs=0\n\
             redirect_stderr=true\nstdout_logfile={}/{name}.out\n",
            words.join(" "),
            self.dir.display()
        );
        let path = self.dir.join(format!("programs/{name}.conf"));
        fs::write(path, text).map_err(|error| error.to_string())
    }

    fn control(&self, args: &[&str]) -> Result<String, BenchError> {
        let mut command = Command::new(&self.control);
        output_of(command.arg("-c").arg(self.settings()).args(args))
    }
}

impl Contender for Supervisor {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn start(&mut self, argv: &[&str]) -> Result<String, BenchError> {
        if argv == ["true"] {
            return self.control(&["start", "true"]);
        }
        self.start_many(argv, 1)?;
        Ok(format!("j{}", self.started))
    }

    fn start_many(&mut self, argv: &[&str], count: usize) -> Result<(), BenchError> {
        for _ in 0..count {
            self.started += 1;
            self.write(&format!("j{}", self.started), argv, true)?;
        }
        self.control(&["update"]).map(drop)
    }

    fn output(&self) -> Result<Output, BenchError> {
        Ok(Output::BySupervisor)
    }

    fn list(&mut self) -> Result<(), BenchError> {
        // Its exit status tells whether all programs run.
        Command::new(&self.control)
            .arg("-c")
            .arg(self.settings())
            .arg("status")
            .stdout(Stdio::null())
            .status()
            .map(drop)
            .map_err(|error| error.to_string())
    }
}
