//! What undoing the setup of an agent changes.

use super::{Plan, bad};
use crate::agent::Agent;
use crate::error::Error;
use crate::setup::Scope;
use crate::setup::file;
use crate::setup::journal::{WrittenFile, WrittenPiece};
use crate::setup::json::Bad;
use crate::setup::piece::Piece;
use crate::setup::places::Places;
use std::fs;
use std::path::Path;

impl Plan {
    pub(super) fn undo(
        &mut self,
        places: &Places,
        agent: Agent,
        scope: &Scope,
    ) -> Result<(), Error> {
        if !self.journal.after.knows(agent, scope) {
            self.name_unknown(places, agent, scope);
            return Ok(());
        }
        let mut journal = std::mem::take(&mut self.journal.after);
        for file in &mut journal.files {
            let is_for = |written: &WrittenPiece| written.is_for(agent, scope);
            if let Some(index) = file.pieces.iter().position(is_for) {
                self.undo_file(file, index)?;
                file.pieces.remove(index);
            }
        }
        journal.set_answer(agent, scope, None);
        self.journal.after = journal;
        Ok(())
    }

    fn undo_file(&mut self, file: &WrittenFile, index: usize) -> Result<(), Error> {
        let real = &file.real;
        if leads_elsewhere(real) {
            let path = real.display();
            self.note(format!(
                "{path} leads through a link that was not there at setup; it was left as it is"
            ));
            return Ok(());
        }
        let bad = bad(real);
        let change = self.change(real, real, false)?;
        let Some(text) = change.new.clone() else {
            return Ok(());
        };
        let others: Vec<&WrittenPiece> = file
            .pieces
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index)
            .map(|(_, written)| written)
            .collect();
        let all: Vec<&WrittenPiece> = file.pieces.iter().collect();
        let before = file.before.as_deref();
        if rewritten(before, &all).map_err(&bad)?.as_deref() == Some(&text) {
            change.new = rewritten(before, &others).map_err(&bad)?;
            return Ok(());
        }
        let pieces: Vec<&Piece> = others.iter().map(|written| &written.piece).collect();
        let left = file.pieces[index]
            .piece
            .take(&text, before, &pieces)
            .map_err(&bad)?;
        change.new = left.text;
        for stays in left.stays {
            let path = real.display();
            self.note(format!(
                "{stays} in {path} was changed since setup wrote it, so it stays; remove it by hand if it is not yours"
            ));
        }
        Ok(())
    }

    /// Without a record nothing is removed. Says so if something is there that looks as if setup had written it.
    fn name_unknown(&mut self, places: &Places, agent: Agent, scope: &Scope) {
        for target in places.targets(agent, scope, false) {
            // Nothing is removed from a file that cannot be read or does not parse either.
            let Ok(Some(found)) = file::read(&target.path) else {
                continue;
            };
            let piece = &target.piece;
            let is_there = piece.is_partly_in(&found.text).is_ok_and(|is_in| is_in)
                || piece
                    .foreign(&found.text, None)
                    .is_ok_and(|foreign| !foreign.is_empty());
            if is_there {
                let path = target.path.display();
                self.note(format!(
                    "{path} mentions outlive, but setup has no record of having written that for {agent}; it was left as it is"
                ));
            }
        }
    }
}

/// The text that setup has made, or would make, of the text before.
fn rewritten(before: Option<&str>, pieces: &[&WrittenPiece]) -> Result<Option<String>, Bad> {
    pieces
        .iter()
        .try_fold(before.map(str::to_owned), |text, written| {
            let text = text.unwrap_or_default();
            Ok(Some(written.piece.put(&text)?))
        })
}

/// Whether the file is a link now, or is reached through one.
fn leads_elsewhere(real: &Path) -> bool {
    let is_link = fs::symlink_metadata(real).is_ok_and(|metadata| metadata.is_symlink());
    let parent = real.parent().and_then(|parent| parent.canonicalize().ok());
    is_link || parent.is_some_and(|parent| Some(parent.as_path()) != real.parent())
}
