//! A verb's arguments, described to the parser only when that verb is named.
//!
//! To describe all of them takes longer than most verbs take to run.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The arguments of one verb.
#[derive(Debug)]
pub struct Lazily<T>(pub T);

impl<T: Args> Args for Lazily<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(T::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

impl<T: FromArgMatches> FromArgMatches for Lazily<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Lazily)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
