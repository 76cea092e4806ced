//! Named places where a test can stop or kill a process, so that races are met by name and not by
//! luck. In release builds there are none.
//!
//! `OUTLIVE_HOOKS=role:place=action,…` with the actions `kill` (this process), `kill-both` (its
//! parent, then itself), `stop` (until a test continues it) and `panic`. `place#2` is the second time that a process
//! comes to that place. A test that runs several parts
//! as threads of one process says for each thread what happens at its places ([`on_this_thread`]).

/// Does here what a test asked for.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn reach(_role: &str, _place: &str) {}

/// Does here what a test asked for.
#[cfg(debug_assertions)]
pub fn reach(role: &str, place: &str) {
    let on_thread = ON_THREAD.with_borrow(Clone::clone);
    if let Some(act) = on_thread {
        return act(role, place);
    }
    let Ok(hooks) = std::env::var("OUTLIVE_HOOKS") else {
        return;
    };
    let here = format!("{role}:{place}");
    let time = count(&here);
    for hook in hooks.split(',') {
        match hook.split_once('=') {
            Some((at, action)) if at == here || at == format!("{here}#{time}") => act(action),
            _ => {}
        }
    }
}

/// Which time this process is at this place: 1, 2, 3, …
#[cfg(debug_assertions)]
fn count(here: &str) -> u32 {
    REACHED.with_borrow_mut(|reached| {
        let times = reached.entry(here.to_owned()).or_insert(0);
        *times += 1;
        *times
    })
}

#[cfg(debug_assertions)]
thread_local! {
    static REACHED: std::cell::RefCell<std::collections::HashMap<String, u32>> = Default::default();
}

#[cfg(debug_assertions)]
type OnThread = std::rc::Rc<dyn Fn(&str, &str)>;

#[cfg(debug_assertions)]
thread_local! {
    static ON_THREAD: std::cell::RefCell<Option<OnThread>> = const { std::cell::RefCell::new(None) };
}

/// From here on this thread calls `act` with the role and the name of each place it reaches.
#[cfg(debug_assertions)]
pub fn on_this_thread(act: impl Fn(&str, &str) + 'static) {
    ON_THREAD.set(Some(std::rc::Rc::new(act)));
}

#[cfg(debug_assertions)]
fn act(action: &str) {
    use rustix::process::{Signal, getpid, getppid, kill_process};
    assert_ne!(action, "panic", "a test asked for it");
    if action == "stop" {
        crate::kernel::own::suspend();
        return;
    }
    if action == "kill-both"
        && let Some(parent) = getppid()
    {
        let _ = kill_process(parent, Signal::KILL);
    }
    let _ = kill_process(getpid(), Signal::KILL);
}
