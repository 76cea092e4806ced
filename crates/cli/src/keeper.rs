//! `outlive-keeper DIRECTORY`: supervises the job in that directory. Started by `outlive`.
#![forbid(unsafe_code)]

/// Keeps what is allocated together: an idle keeper has few pages of its own.
#[global_allocator]
static HEAP: outlive_keeper::Heap = outlive_keeper::Heap;

fn main() {
    std::process::exit(outlive_keeper::main(std::env::args_os()));
}
