//! `outlive-keeper DIRECTORY`: supervises the job in that directory. Started by `outlive`.
#![forbid(unsafe_code)]

fn main() {
    std::process::exit(outlive_keeper::main(std::env::args_os()));
}
