//! The options of a start that choose the environment of the job.

use outlive::api::request::{Environment, EnvironmentSource, VariablePattern};

/// What the job inherits from the environment of this command.
#[derive(Debug, Default, clap::Args)]
pub struct EnvironmentOptions {
    /// Inherit only HOME, PATH, USER, LOGNAME, SHELL, LANG, LANGUAGE, LC_*, TZ, TERM, TMPDIR, XDG_RUNTIME_DIR,
    /// DBUS_SESSION_BUS_ADDRESS and OUTLIVE_*, and what configured doorbells need
    #[arg(long)]
    env_clean: bool,
    /// Inherit this variable too, although --env-clean leaves it out or the configuration withholds it; `*`
    /// stands for any characters and `?` for one; repeatable
    #[arg(long, value_name = "PATTERN", value_parser = VariablePattern::parse)]
    env_pass: Vec<VariablePattern>,
    /// Start the command through your login shell ($SHELL, else bash), which reads your profile first
    ///
    /// A --shell string is read by that shell itself if it is bash, zsh, ksh or sh. A command that is not found ends
    /// the job with 127.
    #[arg(long)]
    login: bool,
}

impl EnvironmentOptions {
    /// The part of the request.
    pub fn request(self) -> Environment {
        Environment {
            clean: self.env_clean,
            pass: self.env_pass,
            source: EnvironmentSource::Caller,
            login: self.login,
        }
    }
}
