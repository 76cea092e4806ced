#!/bin/bash
# machine.sh make|start|stop DIR: a virtual Debian ($SUITE) with systemd, logind and an NFS server, under qemu.
#
# It is emulated (TCG), so it needs no /dev/kvm: making it takes about two minutes, booting it about one.
# ssh reaches it at 127.0.0.1:$PORT as root and as jobuser, with the key that `make` puts in DIR.
set -eu
dir=$2
root=$dir/root
port=${PORT:-22122}
suite=${SUITE:-bookworm}
packages=systemd-sysv,systemd,dbus,dbus-user-session,libpam-systemd,openssh-server,iproute2,procps,udev,kmod
packages=$packages,initramfs-tools,linux-image-cloud-amd64,nfs-kernel-server,nfs-common

make_machine() {
	mkdir -p "$dir"
	# What a run that was interrupted has left.
	rm -rf "$dir/key" "$dir/key.pub" "$dir/boot" "$root"
	ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
	mirror=$(awk '/^URIs/ { print $2; exit }' /etc/apt/sources.list.d/debian.sources 2>/dev/null || true)
	debootstrap --variant=minbase --include="$packages" "$suite" "$root" \
		"${mirror:-http://deb.debian.org/debian}" >"$dir/debootstrap.log" 2>&1
	echo vm1 >"$root/etc/hostname"
	echo '127.0.0.1 localhost vm1' >"$root/etc/hosts"
	echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
	printf '[Match]\nName=e*\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/10.network"
	mkdir -p "$root/srv/nfs"
	echo '/srv/nfs 127.0.0.1(rw,sync,no_subtree_check,no_root_squash)' >"$root/etc/exports"
	chroot "$root" systemctl enable systemd-networkd ssh >>"$dir/debootstrap.log" 2>&1
	# Only the scenario about NFS needs its server, and starting it would make every boot longer.
	chroot "$root" systemctl disable nfs-server rpcbind nfs-client.target >>"$dir/debootstrap.log" 2>&1 || true
	chroot "$root" useradd -m -s /bin/sh jobuser
	for home in root home/jobuser; do
		install -d -m 700 "$root/$home/.ssh"
		cp "$dir/key.pub" "$root/$home/.ssh/authorized_keys"
	done
	chroot "$root" chown -R jobuser: /home/jobuser
	mke2fs -q -t ext4 -d "$root" "$dir/disk.img" 1800M
	mkdir "$dir/boot"
	cp "$root"/boot/vmlinuz-* "$dir/boot/vmlinuz"
	cp "$root"/boot/initrd.img-* "$dir/boot/initrd"
	rm -rf "$root"
}

start_machine() {
	if [ -e "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; then
		echo "it runs already; to turn it off: $0 stop $dir" >&2
		exit 1
	fi
	setsid nohup qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 1024 -smp 1 -nographic \
		-serial "file:$dir/console.log" -monitor none \
		-kernel "$dir/boot/vmlinuz" -initrd "$dir/boot/initrd" -append 'root=/dev/vda rw console=ttyS0 quiet' \
		-drive "file=$dir/disk.img,format=raw,if=virtio" \
		-netdev "user,id=n,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=n \
		</dev/null >"$dir/qemu.log" 2>&1 &
	echo $! >"$dir/pid"
}

stop_machine() {
	kill "$(cat "$dir/pid")"
	rm "$dir/pid"
}

"$1_machine"
