//! Tests settings in a tree of files that stands for `/sys`. Files take any value, so refusals of the kernel are
//! imitated by hand. A test on a real device is in `crates/cli/tests/restore.rs`.

use super::record::restore_in;
use super::*;

/// `/sys` with a loop device that a file of the tree's own folder stands for.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        use std::os::unix::fs::MetadataExt;
        let root = std::env::temp_dir().join(format!("seekwise-set-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let tree = Tree(root);
        let number = DeviceNumber::new(fs::metadata(std::env::temp_dir()).unwrap().dev());
        let number = format!("{}:{}", number.major, number.minor);
        for (word, text) in [
            ("dev", number.as_str()),
            ("diskseq", "7"),
            ("queue/scheduler", "[none] mq-deadline bfq"),
            ("queue/nr_requests", "128"),
            ("queue/write_cache", "write back"),
        ] {
            tree.put(&format!("sys/block/loop0/{word}"), text);
        }
        tree.put("proc/sys/kernel/random/boot_id", "a");
        fs::create_dir_all(tree.0.join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(tree.0.join("sys/block/loop0"), tree.0.join("sys/dev/block").join(number)).unwrap();
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn get(&self, word: &str) -> String {
        read_setting(&self.0.join("sys/block/loop0").join(word)).unwrap()
    }

    fn apply(&self, settings: &[(&str, &str)]) -> Result<SettingsGuard, String> {
        let mut all = DeviceSettings::default();
        for (key, value) in settings {
            all.set(key, value)?;
        }
        all.apply_in(&self.0, &self.system(), &[self.0.join("run")])
    }

    fn system(&self) -> SystemRoot {
        SystemRoot::at(&self.0)
    }

    fn restore(&self) -> Vec<RestoreResult> {
        restore_in(&[self.0.join("run")], &self.system(), false)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_set_is_put_back() {
    let tree = Tree::new("back");
    let held = tree.apply(&[("scheduler", "bfq"), ("write_cache", "unflushed"), ("queue_depth", "4")]).unwrap();
    assert_eq!((&*tree.get("queue/scheduler"), &*tree.get("queue/nr_requests")), ("bfq", "4"));
    assert_eq!(tree.get("queue/write_cache"), "write through");
    let second = tree.apply(&[("queue_depth", "8")]).unwrap_err();
    assert!(second.contains("loop0 is set for another run"), "{second}");
    held.restore().unwrap();
    assert_eq!((&*tree.get("queue/scheduler"), &*tree.get("queue/nr_requests")), ("none", "128"));
    assert_eq!(tree.get("queue/write_cache"), "write back");
    assert!(tree.restore().is_empty());
    drop(tree.apply(&[("queue_depth", "8")]).unwrap());
    assert_eq!(tree.get("queue/nr_requests"), "128");
    assert_eq!(tree.apply(&[]).unwrap().record_path(), None);
}

/// A SCSI disk's own cache: what the kernel believes of it (`queue/write_cache`) stays.
#[test]
fn a_drives_own_write_cache_is_switched_looked_at_and_put_back() {
    let tree = Tree::new("cache");
    let said = tree.apply(&[("write_cache", "off")]).unwrap_err();
    assert!(said.contains("its write cache cannot be switched through /sys"), "{said}");
    let cache = "device/scsi_disk/0:0:0:0/cache_type";
    for (before, wanted, during) in [
        ("write back", "off", "write through"),
        ("write back", "on", "write back"),
        ("write through", "on", "write back"),
    ] {
        tree.put(&format!("sys/block/loop0/{cache}"), before);
        let held = tree.apply(&[("write_cache", wanted)]).unwrap();
        assert_eq!((&*tree.get(cache), &*tree.get("queue/write_cache")), (during, "write back"), "{before}, {wanted}");
        held.restore().unwrap();
        assert_eq!(tree.get(cache), before);
    }
    tree.put(&format!("sys/block/loop0/{cache}"), "write back");
    std::mem::forget(tree.apply(&[("write_cache", "off")]).unwrap());
    let said = tree.restore();
    assert!(!said[0].failed && said[0].said[0].ends_with("cache_type is write back again; it was write through"));
    assert_eq!(tree.get(cache), "write back");
}

/// A drive that takes what is written and does not do it is found out when it is read back.
#[test]
fn a_drive_that_keeps_its_cache_on_is_an_error() {
    let tree = Tree::new("deaf");
    let cache = "sys/block/loop0/device/scsi_disk/0:0:0:0/cache_type";
    tree.put(cache, "");
    fs::remove_file(tree.0.join(cache)).unwrap();
    std::os::unix::fs::symlink("/dev/null", tree.0.join(cache)).unwrap();
    let said = tree.apply(&[("write_cache", "off")]).unwrap_err();
    assert!(said.contains("cache_type = write through: the kernel took it and says"), "{said}");
}

#[test]
fn a_killed_run_is_repaired_once() {
    let tree = Tree::new("killed");
    let held = tree.apply(&[("scheduler", "bfq")]).unwrap();
    // It was killed: nothing is dropped.
    std::mem::forget(held);
    // The kernel gives another number of requests with another scheduler.
    tree.put("sys/block/loop0/queue/nr_requests", "256");
    let said = tree.restore();
    assert!(!said[0].failed && said[0].said[0].ends_with("queue/scheduler is none again; it was bfq"), "{said:?}");
    assert!(said[0].said[1].ends_with("queue/nr_requests is 128 again; it was 256"), "{said:?}");
    assert_eq!((&*tree.get("queue/scheduler"), &*tree.get("queue/nr_requests")), ("none", "128"));
    assert!(tree.restore().is_empty());
}

#[test]
fn what_somebody_else_set_stays_and_a_disk_that_is_another_too() {
    let tree = Tree::new("others");
    std::mem::forget(tree.apply(&[("queue_depth", "4")]).unwrap());
    tree.put("sys/block/loop0/queue/nr_requests", "64");
    let said = tree.restore();
    assert!(said[0].said[0].contains("was set to 64 by somebody else, and stays"), "{said:?}");
    assert_eq!(tree.get("queue/nr_requests"), "64");
    for (path, text) in [("sys/block/loop0/diskseq", "8"), ("proc/sys/kernel/random/boot_id", "b")] {
        std::mem::forget(tree.apply(&[("queue_depth", "4")]).unwrap());
        tree.put(path, text);
        assert!(tree.restore()[0].said[0].contains("gone with a restart"));
        assert_eq!(tree.get("queue/nr_requests"), "4");
        tree.put("sys/block/loop0/queue/nr_requests", "64");
    }
    assert!(tree.restore().is_empty());
}

#[test]
fn a_run_that_is_at_work_is_left_alone() {
    let tree = Tree::new("alive");
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    tree.put(&format!("proc/{}/stat", std::process::id()), &stat);
    let held = tree.apply(&[("queue_depth", "4")]).unwrap();
    let said = tree.restore();
    assert!(said[0].said[0].contains("is still at work with it: nothing done"), "{said:?}");
    assert_eq!(tree.get("queue/nr_requests"), "4");
    held.restore().unwrap();
}

#[test]
fn what_cannot_be_is_refused_and_nothing_changes() {
    let tree = Tree::new("refused");
    for (setting, why) in [
        (("scheduler", "cfq"), "`real.scheduler` = `cfq`; expected one of none, mq-deadline, bfq"),
        (("scheduler", "a b"), "expected a kernel scheduler"),
        (("write_cache", "off"), "cannot be switched through /sys"),
        (("write_cache", "maybe"), "expected on or off"),
        (("queue_depth", "0"), "expected requests that the device has at once"),
        (("depth", "4"), "`real.depth` is no setting of a device; expected real.scheduler, real.write_cache"),
    ] {
        let said = tree.apply(&[setting]).unwrap_err();
        assert!(said.contains(why), "{said}");
    }
    assert!(tree.restore().is_empty());
    // One of two is refused by the kernel when the other is set already.
    let path = tree.0.join("sys/block/loop0/queue/nr_requests");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(tree.apply(&[("scheduler", "bfq")]).is_err());
    assert_eq!(tree.get("queue/scheduler"), "none");
    tree.put("run/x.settings", "nonsense");
    assert!(tree.restore()[0].failed);
}
