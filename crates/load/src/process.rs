//! What a load needs of this machine, and what a process has used of it.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Lets this process have as many sockets as the system allows it, and returns how many.
pub(crate) fn raise_file_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If the system refuses, the old limit holds, and bots beyond it fail with a reason.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

/// The processor time of a process so far, in seconds; nothing where the system does not tell it
/// in `/proc`.
#[must_use]
pub fn cpu_seconds(process: u32) -> Option<f64> {
    /// Linux counts in hundredths of a second on every platform.
    const TICKS_PER_SECOND: f64 = 100.0;
    const USER_TIME_AFTER_NAME: usize = 11;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name may hold anything, so the fields are counted from behind it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(USER_TIME_AFTER_NAME).map(str::parse::<f64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn work_takes_processor_time() {
        let own = std::process::id();
        let before = cpu_seconds(own).expect("there is a /proc");
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < 100 {
            std::hint::spin_loop();
        }
        let spent = cpu_seconds(own).expect("there is a /proc") - before;
        assert!(spent >= 0.02, "{spent} s");
    }
}
