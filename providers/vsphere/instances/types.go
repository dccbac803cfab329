package instances

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// instanceType returns the type of a machine. It is a label that is set once and that users select nodes by, so that
// its form, the integer division and the names of operating systems can never change.
func instanceType(m api.Machine) string {
	const mbPerGB = 1024
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", m.CPUs, m.MemoryMB/mbPerGB, guestName(m.GuestID))
}

// unknownGuest is the name of every guest that the table below lacks. More recent ones stay unknown, because the
// label of existing nodes is never updated.
const unknownGuest = "unknown"

// guestName returns the name of a guest operating system: its identifier without the suffix, with exceptions.
func guestName(id string) string {
	if name, ok := irregularNames()[id]; ok {
		return name
	}
	if !hasRegularName(id) {
		return unknownGuest
	}
	name := strings.TrimSuffix(id, "Guest")
	return strings.TrimSuffix(strings.TrimSuffix(name, "64"), "_")
}

// hasRegularName reports whether a guest with that identifier has the regular name.
func hasRegularName(id string) bool {
	const ids = ` asianux3_64Guest asianux3Guest asianux4_64Guest asianux4Guest asianux5_64Guest asianux7_64Guest
		centos6_64Guest centos6Guest centos7_64Guest centos7Guest centosGuest coreos64Guest
		debian10_64Guest debian10Guest debian4_64Guest debian4Guest debian5_64Guest debian5Guest debian6_64Guest
		debian6Guest debian7_64Guest debian7Guest debian8_64Guest debian8Guest debian9_64Guest debian9Guest
		dosGuest eComStation2Guest eComStationGuest fedora64Guest fedoraGuest freebsd64Guest freebsdGuest
		mandrakeGuest mandriva64Guest mandrivaGuest netware4Guest netware5Guest netware6Guest nld9Guest oesGuest
		openServer5Guest openServer6Guest opensuse64Guest opensuseGuest
		oracleLinux6_64Guest oracleLinux64Guest oracleLinux6Guest oracleLinux7_64Guest oracleLinux7Guest oracleLinuxGuest
		os2Guest rhel2Guest rhel3_64Guest rhel3Guest rhel4_64Guest rhel4Guest rhel5_64Guest rhel5Guest rhel6_64Guest
		rhel6Guest rhel7_64Guest rhel7Guest rhel8_64Guest rhel9_64Guest rhel10_64Guest sjdsGuest
		sles10_64Guest sles10Guest sles11_64Guest sles11Guest sles12_64Guest sles12Guest slesGuest
		solaris10_64Guest solaris10Guest solaris11_64Guest solaris6Guest solaris7Guest solaris8Guest solaris9Guest
		suse64Guest suseGuest ubuntu64Guest ubuntuGuest vmkernel5Guest vmkernel65Guest vmkernel6Guest vmkernelGuest
		win31Guest win95Guest win98Guest `
	for guest := range strings.FieldsSeq(ids) {
		if guest == id {
			return true
		}
	}
	return false
}

// irregularNames returns the other names, by the identifier of the guest.
func irregularNames() map[string]string {
	names := map[string]string{
		"centos64Guest": "centos64", "sles64Guest": "sles64", "redhatGuest": "rhel", "vmwarePhoton64Guest": "photon",
		"genericLinuxGuest": "linux", "otherGuest": "other", "otherGuest64": "other",
		"unixWare7Guest": "unixware7", "turboLinux64Guest": "turbolinux", "turboLinuxGuest": "turbolinux",
		"windows7_64Guest": "win7", "windows7Guest": "win7", "windows7Server64Guest": "win7server",
		"windows8_64Guest": "win8", "windows8Guest": "win8", "windows8Server64Guest": "win8server",
		"windows9_64Guest": "win10", "windows9Guest": "win10", "windows9Server64Guest": "win10server",
		"windowsHyperVGuest": "windowshyperv", "winMeGuest": "winme", "winNTGuest": "winnt",
		"win2000AdvServGuest": "win2000advserv", "win2000ProGuest": "win2000pro", "win2000ServGuest": "win2000serv",
		"winNetBusinessGuest": "winnetbusiness", "winNetWebGuest": "winnetweb", "winXPHomeGuest": "winxphome",
	}
	for _, version := range []string{"", "24x", "26x", "3x"} {
		names["other"+version+"LinuxGuest"], names["other"+version+"Linux64Guest"] = "linux", "linux"
	}
	for _, edition := range []string{"Longhorn", "NetDatacenter", "NetEnterprise", "NetStandard", "Vista", "XPPro"} {
		name := "win" + strings.ToLower(edition)
		names["win"+edition+"Guest"], names["win"+edition+"64Guest"] = name, name
	}
	for _, release := range []string{"10_64", "10", "11_64", "11", "12_64", "13_64", "14_64", "15_64", "16_64", "64", ""} {
		names["darwin"+release+"Guest"] = "darwin"
	}
	return names
}
