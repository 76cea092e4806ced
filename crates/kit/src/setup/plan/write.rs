//! What setting up an agent changes.

use super::{Change, Plan, Request, bad};
use crate::agent::Agent;
use crate::error::Error;
use crate::setup::Scope;
use crate::setup::file;
use crate::setup::journal::{Journal, WrittenFile, WrittenPiece};
use crate::setup::piece::Piece;
use crate::setup::places::{Places, Target};

impl Plan {
    pub(super) fn write(
        &mut self,
        places: &Places,
        agent: Agent,
        request: &Request<'_>,
    ) -> Result<(), Error> {
        let scope = request.scope;
        let may_call = self.may_call(agent, request);
        for target in places.targets(agent, scope, may_call) {
            self.write_target(&target, agent, scope)?;
        }
        self.obstacles.extend(places.obstacles(agent, scope));
        for note in places.notes(agent, scope) {
            self.note(note);
        }
        Ok(())
    }

    /// Whether the agent may call our tools without asking: what the user says now, or has said before.
    fn may_call(&mut self, agent: Agent, request: &Request<'_>) -> bool {
        let Some(offer) = agent.profile().offer() else {
            return false;
        };
        let now = request.answers.get(&agent).copied();
        let said = now.or_else(|| self.journal.after.answer(agent, request.scope));
        match said {
            Some(_) => self.journal.after.set_answer(agent, request.scope, said),
            None => self.offers.push((agent, offer)),
        }
        said.unwrap_or(false)
    }

    fn write_target(&mut self, target: &Target, agent: Agent, scope: &Scope) -> Result<(), Error> {
        let real = file::real(&target.base, &target.path)?;
        let mut journal = std::mem::take(&mut self.journal.after);
        let change = self.change(&target.path, &real.path, real.is_elsewhere)?;
        let written = record_of(&mut journal, change)?;
        let piece = &target.piece;
        let old = written
            .pieces
            .iter()
            .find(|written| written.is_for(agent, scope))
            .map(|written| &written.piece);
        let bad = bad(&target.path);
        let text = change.new.clone().unwrap_or_default();
        let foreign = piece.foreign(&text, old).map_err(&bad)?;
        let original = written.before.as_deref();
        let new = piece.update(&text, old, original).map_err(&bad)?;
        let recorded: Vec<&Piece> = written.pieces.iter().map(|one| &one.piece).collect();
        let own = piece.written(&text, &recorded).map_err(&bad)?;
        let is_first = change.old.is_some() && change.is_none() && written.pieces.is_empty();
        change.is_foreign |= is_first && change.before() != Some(&new);
        let path = target.path.display();
        let foreign = foreign.iter().map(|what| format!("{what} in {path}"));
        change.replaces.extend(foreign);
        change.new = Some(new);
        note(written, agent, scope, own);
        self.journal.after = journal;
        Ok(())
    }
}

/// Notes what setup writes into the file for an agent, in the place of what it wrote before.
fn note(file: &mut WrittenFile, agent: Agent, scope: &Scope, piece: Option<Piece>) {
    let old = file.pieces.iter().position(|one| one.is_for(agent, scope));
    let new = piece.map(|piece| WrittenPiece {
        agent,
        scope: scope.clone(),
        piece,
    });
    match (old, new) {
        (Some(index), Some(new)) => file.pieces[index] = new,
        (Some(index), None) => drop(file.pieces.remove(index)),
        (None, Some(new)) => file.pieces.push(new),
        (None, None) => {}
    }
}

/// Drops from the record what was in the file before setup first wrote to it. Older versions noted that too.
fn forget_what_was_there(file: &mut WrittenFile) {
    let before = file.before.as_deref().unwrap_or_default();
    file.pieces
        .retain_mut(|written| match written.piece.written(before, &[]) {
            Ok(Some(piece)) => {
                written.piece = piece;
                true
            }
            Ok(None) => false,
            // It is not known what was there, so the record stays as it is.
            Err(_) => true,
        });
}

/// What the journal knows about the file. If nothing of that is in the file any more, somebody has removed it, and
/// the file as it is now is the one to restore.
fn record_of<'j>(journal: &'j mut Journal, change: &Change) -> Result<&'j mut WrittenFile, Error> {
    let index = journal
        .files
        .iter()
        .position(|file| file.real == change.real);
    let fresh = WrittenFile {
        real: change.real.clone(),
        before: change.before().map(str::to_owned),
        pieces: Vec::new(),
        backup: None,
    };
    let index = match index {
        Some(index) => {
            forget_what_was_there(&mut journal.files[index]);
            let text = change.after().unwrap_or_default();
            let mut is_stale = true;
            for written in &journal.files[index].pieces {
                let is_in = written.piece.is_partly_in(text);
                is_stale &= !is_in.map_err(bad(&change.path))?;
            }
            if is_stale {
                journal.files[index] = fresh;
            }
            index
        }
        None => {
            journal.files.push(fresh);
            journal.files.len() - 1
        }
    };
    Ok(&mut journal.files[index])
}
