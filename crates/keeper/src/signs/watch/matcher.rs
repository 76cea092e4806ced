//! A regular expression together with the memory that a search needs.
//!
//! The crate's own `find` takes that memory from a pool that threads share. A keeper has one thread, and the pool
//! would cost every keeper a page of memory, even those without a watch.

use regex_automata::meta::{BuildError, Builder, Cache, Config, Regex};
use regex_automata::{Input, Match};
use regex_syntax::hir::Hir;
use std::cell::RefCell;

/// Four times the crate's default limit, which applies when a watch is asked for. A pattern that was accepted then
/// must not be refused in its rewritten form.
const MAX_AUTOMATON_BYTES: usize = 40 << 20;

#[derive(Debug)]
pub struct Matcher {
    regex: Regex,
    /// Created with the first search.
    memory: RefCell<Option<Cache>>,
}

impl Matcher {
    /// Fails with the reason why the expression cannot be used.
    pub fn new(hir: &Hir) -> Result<Matcher, String> {
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(MAX_AUTOMATON_BYTES));
        let regex = Builder::new().configure(config).build_from_hir(hir);
        Ok(Matcher {
            regex: regex.map_err(|error| reason(&error))?,
            memory: RefCell::default(),
        })
    }

    pub fn find(&self, input: &Input<'_>) -> Option<Match> {
        self.with_memory(|memory| self.regex.search_with(memory, input))
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        let input = Input::new(text).earliest(true);
        self.with_memory(|memory| self.regex.search_half_with(memory, &input).is_some())
    }

    fn with_memory<T>(&self, search: impl FnOnce(&mut Cache) -> T) -> T {
        let mut memory = self.memory.borrow_mut();
        search(memory.get_or_insert_with(|| self.regex.create_cache()))
    }
}

fn reason(error: &BuildError) -> String {
    match error.size_limit() {
        Some(limit) => format!("it takes more than {} MiB when it is compiled", limit >> 20),
        None => error.to_string(),
    }
}
